/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tools/common/demangle.c: texts of names, and the limits of damaged ones. */
#include <libiberty/demangle.h>

#include "tools/common/tool.h"
#include "unit_test.h"

/* Names that libiberty demangles, or does not. */
static const char *const names[] = {
    "_Z4mainv",
    "_Z1fiz",
    "_ZL6staticPKc",
    "_ZN1aD0Ev",
    "_ZN12_GLOBAL__N_11C3runEPS0_RKS0_OS0_",
    "_ZNK5clang4Stmt8childrenEv",
    "_ZNSt6vectorIiSaIiEE9push_backEOi",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EPKcRKS3_",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c",
    "_ZNK4llvm9StringMapINS_8TypeKindENS_15MallocAllocatorEEixENS_9StringRefE",
    "_ZN4llvm8dyn_castINS_5ValueEKNS_4UserEEEvRPT0_",
    "_ZN4llvm4castINS_5ValueEKNS_4UserEEEvPT0_RKT_",
    "_ZN1aI1bILi5ELj6ELl7ELm8ELx9ELy10ELb1ELb0ELin3EEE1fEv",
    "_ZN1aILN5clang4KindE3ELh1ELc65EEC1Ev",
    "_Z3allIJifdEEvDpOT_",
    "_Z3allIJiRfOdEEvDpOT_",
    "_Z3allIJidEEvDpRKT_",
    "_Z3allIJEEviDpT_",
    "_Z3allIiJEEviDpT0_i",
    "_Z4moveIRiEvOT_RS1_",
    "_Z4moveIOiEvOT_RS1_",
    "_ZN4llvm12function_refIFbPKcRiEE4callEOS2_",
    "_ZlsRSoRKSs",
    "_ZltIiEbT_S0_",
    "_ZN1aaSERKS_",
    "_ZNK1aptEv",
    "_ZN1aclIJS_S_EEEvDpT_",
    "_ZN1aIJifEEC2Ev",
    "_Z1fPvPKvPPKPvRPS_",
    "_ZZ4mainE1x",
    "_ZZ4mainE1x_0",
    "_ZZ4mainE1x__12_",
    "_ZZN1a1bEvENKUlvE_clEv",
    "_ZZN1aC1EiENKUlS_PKcE0_clEv",
    "_ZZNK1a1bIiEEvT_ENKUlRKiE_clERKc",
    "_ZZZ1fvENKUlvE_clEvENKUlvE0_clEv",
    "_Z1fIZ4mainE3$_0EvT_",
    "_Z1fIZ1gIiJjEEP1aIT_EvEUliE1_EvRKT_",
    "_Z4callIZN1a3runIbEES_T_PS1_EUlS_E_ZN1a4stopEvE3endEvRKT0_",
    "_ZZ1fIiET_S0_EN5local3runEv",
    "_ZN1aB5cxx11Ev",
    "_ZN1aB5cxx11C1Ev",
    "_ZNK1a4nameB5cxx11B2v2IiEEvT_",
    "_ZN1aIDnE1fEDsDi",
    "_Z1fIiEDaT_",
    "_Z",
    "_ZN1a1bEv.cold",
    "_ZZ4mainE1x_",
    "_ZZ4mainEs",
    "_ZZ4mainEs_0",
    "_ZZ1fiEd_NKUlvE_clEv",
    "_ZZ1fIiEvT_ENKUlS0_E_clES0_",
    "_Z1fIZ1gIiJjEEP1aIT_EvEUliE1_EvRKT_PS4_",
    "_ZZ1fIiEvT_ENKUlT_E_clIiEEDaS1_",
    "_ZN1a3varMUlvE_clEv",
    "_Z1fIZ1gvEUlFvvEE1_EvRKT_",
    "_Z1fIZ1gvEUlPKcE_EvRKT_S0_",
    "_Z1fIJZ1gvEUlPKcE_iEEvDpRKT_",
    "_ZZN1a1bESsvENKD2UlvE_clEv",
    "_ZZ1gvENKUlZ1fIiEvT_EUliE_E_clEv",
    "_ZgtIS_EbT_S0_",
    "_ZZ1fvENUlvE_E_0cv",
    "_ZN1aUt_C1Ev",
    "_ZZ1fvE3s_1__123",
    "_Z1fIZ1gIiET_S1_EUlvE_EvS3_S4_T_",
    "_ZTV1a",
    "_ZN1acvT_IiEEv",
    "_Z1fPFivE",
    "_ZN1a1bIFvvEE1cEPS1_",
    "_Z1fRA4_i",
    "_Z1fM1aFvvE",
    "_ZNK1aR3getEv",
    "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
    "_RNvC6_123foo3bar",
    "_ZNSsC1Ev",
    "_Z1fIXadL_Z1gvEEEvv",
    "_Z1fDv4_f",
    "_ZN1aIXsrS0_1bEE1cEv",
    "_Z1fIiEN1aIXsr1bIT_EE1vEvE1tES2_",
    "_Z1fIiEN1aIXsr1bIT_E1vEvE1tES2_",
    "_Z1fIJEEN1aIXsr3stdE1bIDpT_EEE1tES3_",
    "_Z1fIJifEEN1aIXsr3std1bIDpT_EE1vEE1tEflS3_",
    "_Z1fIJbbEEN1aIXfraaT_EE1tEv",
    "_Z1fIJbbEEN1aIXfLplLi1ET_EE1tEv",
    "_Z1fIJilEEN1aIXsZT_EE1tEDpOT_",
    "_Z1fIJilEEDTcl1gspclsr3stdE4moveIT_Efp_EEEDpS1_",
    "_Z5a> >bi",
    "_Z3allIJiRf1&OdEEvDpOT_",
};

/* The limits change nothing of usual names. */
TEST(test_within_the_limits)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *name = names[i];
        char *plain = demangle_by_libiberty(name);
        char *expected = cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
        if (!plain != !expected || (plain && strcmp(plain, expected) != 0))
            fail_msg("\"%s\" becomes \"%s\", without limits \"%s\"", name, plain ? plain : "(NULL)",
                     expected ? expected : "(NULL)");
        free(plain);
        free(expected);
    }
}

/* Append "S_", "S0_" and so on. */
static void add_reference(char *name, unsigned number)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char *at = name + strlen(name);
    *at++ = 'S';
    if (number > 36)
        *at++ = digits[(number - 1) / 36];
    if (number > 0)
        *at++ = digits[(number - 1) % 36];
    memcpy(at, "_", 2);
}

/* Template arguments: a class, and templates of which each has the one before twice. */
static void add_doubles(char *name, unsigned first, unsigned count)
{
    strcat(name, "1x1pI");
    add_reference(name, first);
    add_reference(name, first);
    strcat(name, "E");
    for (unsigned i = 0; i < count; i++) {
        add_reference(name, first + 1);
        strcat(name, "I");
        add_reference(name, first + 2 + i);
        add_reference(name, first + 2 + i);
        strcat(name, "E");
    }
}

/* What demangle_name() makes of a name in which libiberty searches the last of those for packs, and
 * which ends in more parameters. */
static char *demangle_searched(unsigned count, const char *more)
{
    char name[1024] = "_Z1fI";
    add_doubles(name, 1, count);
    strcat(name, "EDp");
    add_reference(name, 3 + count);
    strcat(name, "i");
    strcat(name, more);
    return demangle_name(name);
}

/* Without limits, printing or searching these would take years. */
TEST(test_endless)
{
    char printed[1024] = "_Z1f";
    add_doubles(printed, 0, 60);
    assert_null(demangle_name(printed));
    static const char *const ends[] = {"", "N1aIXsr1bIT_EE1vEE1tE", "N1aIXsr1b1vEE1tE"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        assert_null(demangle_searched(60, ends[i]));
        char *plain = demangle_searched(2, ends[i]);
        assert_non_null(plain);
        assert_non_null(strstr(plain, "p<p<x, x>, p<x, x>>"));
        free(plain);
    }
}

/* Nor can reading names of conversions to templates of templates of templates... */
TEST(test_conversions)
{
    char name[1024] = "_ZN1acv";
    for (size_t i = 0; i < 250; i++)
        strcat(name, "T_I");
    strcat(name, "i");
    for (size_t i = 0; i < 250; i++)
        strcat(name, "E");
    assert_null(demangle_name(name));
    char *plain = demangle_name("_ZN1acvT_IiEI1bEEv");
    assert_string_equal(plain, "a::operator b<int><b>()");
    free(plain);
}

/* Texts of llvm-cxxfilt, and then of c++filt where both differ. */
static const struct {
    const char *name;
    const char *text; /* NULL: it is not mangled */
} texts[] = {
    {"_Z4mainv", "main()"},
    {"_ZNK4llvm4castINS_5ValueEKNS_4UserEEEvPT0_RKSt4pairIT_iE",
     "void llvm::cast<llvm::Value, llvm::User const>(llvm::User const*, std::pair<llvm::Value, "
     "int> const&) const"},
    {"_ZN12_GLOBAL__N_11C3runEPS0_RKS0_OS0_",
     "(anonymous namespace)::C::run((anonymous namespace)::C*, (anonymous namespace)::C const&, "
     "(anonymous namespace)::C&&)"},
    {"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EPKcRKS3_",
     "std::__cxx11::basic_string<char, std::char_traits<char>, "
     "std::allocator<char>>::basic_string(char const*, std::allocator<char> const&)"},
    {"_ZN1aI1bIcEE1cB5cxx11Ev", "a<b<char>>::c[abi:cxx11]()"},
    {"_ZN1aI1bI1cIiEEE1fERA3_KcPFivE", "a<b<c<int>>>::f(char const (&) [3], int (*)())"},
    {"_ZN1agtI1bI1cIiEEEEbRKT_", "bool a::operator><b<c<int>>>(b<c<int>> const&)"},
    {"_ZNK1acvbEv", "a::operator bool() const"},
    {"_ZNSsD1Ev",
     "std::basic_string<char, std::char_traits<char>, std::allocator<char>>::~basic_string()"},
    {"_ZGVZ4mainE1x", "guard variable for main::x"},
    {"_ZTV1aIiE", "vtable for a<int>"},
    {"_ZThn16_N1a1fEv", "non-virtual thunk to a::f()"},
    {"_Znwm", "operator new(unsigned long)"},
    {"_Z1fIJidEEvDpT_", "void f<int, double>(int, double)"},
    {"_RNvC6_123foo3bar", "123foo::bar"},
    {"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>"},
    {"_ZN1a1fEv.part.0.isra.1", "a::f() [clone .part.0] [clone .isra.1]"},
    {"_ZZ4mainENKUliE0_clEi", "main::{lambda(int)#2}::operator()(int) const"},
    {"_ZN1aUt_C1Ev", "a::{unnamed type#1}::a()"},
    {"_RNvC5crate3foo.cold", "crate::foo"},
    {"_ZN29_$LT$a..b$u20$as$u20$c..D$GT$3run17h0123456789abcdefE.llvm.123", "<a::b as c::D>::run"},
    {"", NULL},
    {"main", NULL},
    {"fi", NULL},
    {"_Zfoo", NULL},
    {"_Rfoo", NULL},
    {"_ZN1a1fEv.Cold", NULL},
};

TEST(test_texts)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *text = demangle_name(texts[i].name);
        if (!text != !texts[i].text || (text && strcmp(text, texts[i].text) != 0))
            fail_msg("\"%s\" becomes \"%s\"", texts[i].name, text ? text : "(NULL)");
        free(text);
    }
}
