/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions whose flow of control compilers seldom or never write, one for each rule of where
 * blocks start and which ones reach the next. None is ever called. Numeric labels: 1 to 3 are
 * behind what the function is about, 9 is its end.
 */
#define BEGIN(name)                                                                                \
    .p2align 4;                                                                                    \
    .globl name;                                                                                   \
    .hidden name;                                                                                  \
    .type name, @function;                                                                         \
    name: xorl %ecx, %ecx;                                                                         \
    5:
#define LABELS                                                                                     \
    xorl %edx, %edx;                                                                               \
    testl %eax, %eax;                                                                              \
    1: xorl %ebx, %ebx;                                                                            \
    2: xorl %esi, %esi;                                                                            \
    3: xorl %edi, %edi;                                                                            \
    ret;                                                                                           \
    9:
#define END(name)                                                                                  \
    LABELS.size name, . - name;                                                                    \
    nop;                                                                                           \
    nop
#define TABLE(name, ...)                                                                           \
    .pushsection .rodata;                                                                  \
    .p2align 3;                                                                                    \
    name: .quad __VA_ARGS__, 0;                                                                    \
    .popsection
#define DISTANCES(name)                                                                            \
    .pushsection .rodata;                                                                          \
    .p2align 3;                                                                                    \
    name: .long 1b - name, 2b - name, 3b - name, 0, 0;                                             \
    .popsection
#define FLOW(name, ...)                                                                            \
    BEGIN(name) __VA_ARGS__;                                                                       \
    END(name)

    .text
    .globl outside
    .hidden outside
    .type outside, @function
outside:
    nop
    nop
    ret
    .size outside, . - outside

/* --- Which instructions end a block ------------------------------------------------------- */

FLOW(ends_ud2, ud2)
FLOW(ends_ud1, ud1 %eax, %eax)
FLOW(ends_hlt, hlt)
FLOW(ends_iret, iretq)
FLOW(ends_lret, lretl)
FLOW(ends_ret_imm, ret $8)
FLOW(ends_repz_ret, repz; ret)
FLOW(ends_bnd_ret, bnd ret)
FLOW(ends_data16_ret, .byte 0x66, 0xc3)
FLOW(goes_on_traps, int3; int $3; int $0x80; syscall)
FLOW(goes_on_system, sysretq; rsm; vmcall; swapgs; wbinvd; clac; mwait)
FLOW(goes_on_transaction, xend; xabort $1; xtest)
FLOW(goes_on_calls, call *%rax; call *(%rax); lcall *(%rax); call outside)
FLOW(ends_far_jump, ljmp *(%rax))
FLOW(ends_indirect, jmp *%rax; jmp *(%rax); notrack jmp *%rcx; bnd jmp *%rdx)
FLOW(begins_transaction, xbegin 1f)
FLOW(unsupported_loop, loop 1f)
FLOW(unsupported_jrcxz, jrcxz 1f)
FLOW(unknown_bytes, .byte 0x06)

/* --- Prefixes ----------------------------------------------------------------------------- */

FLOW(lock_ends_block, lock; addl $1, (%rax); 4: lock; incl (%rax); jne 4b; lock; decl (%rax))
FLOW(lock_jumped_over, jne 4f; lock; 4: cmpxchgl %ecx, (%rdx))
FLOW(repeated, rep; movsb; 4: repne; scasb; jne 4b; rep; xorl %eax, %eax)
FLOW(sized, .byte 0x66, 0x66, 0x48, 0xe8; .long outside - . - 4; .byte 0x66; jmp 1f)
FLOW(hinted, jne,pn 1f; je,pt 2f; bnd jmp 1f)

/* --- Jumps that share a block ------------------------------------------------------------- */

FLOW(shares_conditional, jne 1f; jmp 2f)
FLOW(shares_same_target, jne 1f; jmp 1f)
FLOW(shares_and_reaches, jne 4f; jmp 2f; 4: nop)
FLOW(shares_tail_call, jmp outside; jmp 1f)
FLOW(shares_trap, ud2; jmp 1f; hlt; jmp 2f)
FLOW(shares_transaction, xbegin 1f; jmp 2f)
FLOW(alone_tail_call, jne 1f; jmp outside; jmp outside; jmp outside; jmp 1f)
FLOW(alone_conditional_tail_call, jne outside; jmp 1f; jne outside; jmp outside)
FLOW(alone_no_operation, jne 1f; nop; jmp 1f; ud2; nop; jmp 1f)
FLOW(alone_label, jmp 4f; jne 1f; 4: jmp 2f)
FLOW(alone_return, ret; jmp 1f; iretq; jmp 1f)
FLOW(alone_indirect, jmp *%rax; jmp 1f)
FLOW(alone_jump, jmp 1f; jmp 2f; jmp 3f)

/* --- Branches inside and out -------------------------------------------------------------- */

FLOW(to_next, jmp 4f; 4: jne 4f; 4: call 4f; 4: nop)
FLOW(to_start, jne to_start; jmp to_start)
FLOW(calls_itself, call calls_itself; nop)
FLOW(calls_inside, call 2f; call 5b)
FLOW(to_padding, jne 9f; jmp 9f; call 9f)
FLOW(into_instruction, jne 5b + 3; movl $0x90909090, %eax)
FLOW(conditional_tail_call, jne outside; call outside; je outside)

/* --- Addresses of its own code ------------------------------------------------------------ */

FLOW(takes_address, leaq 2f(%rip), %rax)
FLOW(reads_code, movq 2f(%rip), %rax; cmpb $3, 3f(%rip))
FLOW(calls_by_code, call *2f(%rip))
FLOW(touches_code, nopw 2f(%rip))
FLOW(takes_inside_instruction, leaq 5b + 1(%rip), %rax)
FLOW(takes_by_half, leal 2f(%eip), %ecx)

/* --- Jump tables -------------------------------------------------------------------------- */

#define RELATIVE(name, ...)                                                                        \
    BEGIN(name) leaq name##_table(%rip), %rcx;                                                     \
    __VA_ARGS__;                                                                                   \
    END(name);                                                                                     \
    DISTANCES(name##_table)

RELATIVE(relative, movslq (%rcx,%rax,4), %rax; addq %rcx, %rax; jmp *%rax)
RELATIVE(relative_other_sum, movslq (%rcx,%rax,4), %rdx; addq %rdx, %rcx; jmp *%rcx)
RELATIVE(relative_notrack, movslq (%rcx,%rax,4), %rax; addq %rcx, %rax; notrack jmp *%rax)
RELATIVE(relative_high, movslq (%rcx,%r12,4), %r11; addq %rcx, %r11; jmp *%r11)
RELATIVE(relative_apart, call outside; movslq (%rcx,%rax,4), %rax; jne 2f; xorl %esi, %esi;
         addq %rcx, %rax; syscall; jmp *%rax)
RELATIVE(relative_twice, movslq (%rcx,%rax,4), %rax; addq %rcx, %rax; jne 4f; jmp *%rax;
         4: jmp *%rax)
RELATIVE(relative_popped, movslq (%rcx,%rax,4), %rax; addq %rcx, %rax; popq %rax; jne 1f;
         jmp *%rax)
RELATIVE(relative_moved, movslq (%rcx,%rax,4), %rax; addq %rcx, %rax; cmovel %edx, %eax; jmp *%rax)
RELATIVE(relative_wrong_add, movslq (%rcx,%rax,4), %rax; .byte 0x48, 0x03, 0xc1; jmp *%rax)
RELATIVE(relative_wrong_base, movslq (%rcx,%rax,4), %rcx; addq %rcx, %rax; jmp *%rax)
RELATIVE(relative_displaced, movslq 4(%rcx,%rax,4), %rax; addq %rcx, %rax; jmp *%rax)
RELATIVE(relative_clobbered, movslq (%rcx,%rax,4), %rax; xorl %ecx, %ecx; addq %rcx, %rax; jmp *%rax)
RELATIVE(relative_clobbered_byte, movslq (%rcx,%rax,4), %rax; xorb %ah, %ah; addq %rcx, %rax;
         jmp *%rax)
RELATIVE(relative_by_cpuid, movslq (%rcx,%rax,4), %rax; cpuid; addq %rcx, %rax; jmp *%rax)
RELATIVE(relative_by_string, movslq (%rcx,%rax,4), %rax; rep; stosb; addq %rcx, %rax; jmp *%rax)
RELATIVE(relative_segment, .byte 0x3e; movslq (%rcx,%rax,4), %rax; addq %rcx, %rax; jmp *%rax)
RELATIVE(relative_short, movslq (%ecx,%eax,4), %rax; addq %rcx, %rax; jmp *%rax)

/* Two tables without a gap. As entries of the first one, those of the second lead into the first function: to 18, 20
 * and 22. */
#define ADJACENT(name, times)                                                                      \
    BEGIN(name) leaq name##_table(%rip), %rcx;                                                     \
    movslq (%rcx,%rax,4), %rax;                                                                    \
    addq %rcx, %rax;                                                                               \
    jmp *%rax;                                                                                     \
    END(name);                                                                                     \
    .pushsection .rodata;                                                                          \
    .p2align 2;                                                                                    \
    name##_table: .rept times;                                                                     \
    .long 1b - name##_table, 2b - name##_table, 3b - name##_table;                                 \
    .endr;                                                                                         \
    .popsection

ADJACENT(relative_before, 3)
ADJACENT(relative_behind, 1)

#ifndef __PIC__
FLOW(absolute, jmp *absolute_table(,%rax,8))
TABLE(absolute_table, 1b, 2b, 3b, 2b)
FLOW(absolute_high, jmp *absolute_high_table(,%r12,8))
TABLE(absolute_high_table, 1b, 2b)
FLOW(absolute_half, jmp *absolute_half_table(,%eax,8))
TABLE(absolute_half_table, 1b, 2b)
FLOW(absolute_loaded, movq absolute_loaded_table(,%rax,8), %rcx; nop; jmp *%rcx)
TABLE(absolute_loaded_table, 1b, 2b)
FLOW(absolute_half_loaded, movl absolute_half_loaded_table(,%rax,8), %ecx; jmp *%rcx)
TABLE(absolute_half_loaded_table, 1b, 2b)
FLOW(absolute_next, jmp *absolute_next_table(,%rax,8); 4: nop)
TABLE(absolute_next_table, 4b, 2b)
FLOW(absolute_start, jmp *absolute_start_table(,%rax,8))
TABLE(absolute_start_table, absolute_start, 3b, absolute_start)
FLOW(absolute_end, jmp *absolute_end_table(,%rax,8))
TABLE(absolute_end_table, 9b, 3b, 9b)
FLOW(absolute_only_ends, jmp *absolute_only_ends_table(,%rax,8))
TABLE(absolute_only_ends_table, 9b, 9b, 9b)
FLOW(absolute_one, jmp *absolute_one_table(,%rax,8))
TABLE(absolute_one_table, 1b, outside, 2b)
FLOW(absolute_odd, jmp *absolute_odd_table(,%rax,8))
TABLE(absolute_odd_table, 2b, 1b, 1b + 1, 3b)
FLOW(absolute_parts, jmp *absolute_parts_table(,%rax,8); jmp *absolute_parts_table + 16(,%rax,8))
TABLE(absolute_parts_table, 1b, 2b, 3b, 1b)
FLOW(absolute_middle, jmp *absolute_middle_table + 8(,%rax,8); jmp *%rax)
TABLE(absolute_middle_table, 1b, 2b, 3b)
FLOW(absolute_segment, jmp *%gs:absolute_segment_table(,%rax,8))
TABLE(absolute_segment_table, 1b, 2b)
FLOW(absolute_based, jmp *absolute_based_table(%rax,%rax,8))
TABLE(absolute_based_table, 1b, 2b)
FLOW(absolute_scaled, jmp *absolute_scaled_table(,%rax,4))
TABLE(absolute_scaled_table, 1b, 2b)
FLOW(absolute_notrack, .byte 0x3e; jmp *absolute_notrack_table(,%rax,8))
TABLE(absolute_notrack_table, 1b, 2b)
FLOW(slot_constant, jmp *slot_constant_table(%rip); jmp 1f)
TABLE(slot_constant_table, 2b)
FLOW(slot_behind_branch, jne 1f; jmp *slot_behind_branch_table(%rip))
TABLE(slot_behind_branch_table, 2b)
FLOW(slot_absolute, jmp *slot_absolute_table; jmp 1f)
TABLE(slot_absolute_table, 2b)
FLOW(slot_outside, jmp *slot_outside_table(%rip); jmp 1f)
TABLE(slot_outside_table, outside)
FLOW(slot_writable, jmp *writable(%rip); jmp 1f)
    .pushsection .data
    .p2align 3
writable:
    .quad 5b
    .popsection
#endif

/* --- Entered from elsewhere --------------------------------------------------------------- */

FLOW(entered_by_call, nop; nop)
FLOW(calls_other, call entered_by_call + 3)
FLOW(entered_by_jump, nop; nop)
FLOW(jumps_to_other, jmp entered_by_jump + 3)
FLOW(entered_by_branch, nop; nop)
    .globl branches_to_other
    .hidden branches_to_other
    .type branches_to_other, @function
branches_to_other: /* near, so that the distance is one byte */
    jne entered_by_branch + 3
    ret
    .size branches_to_other, . - branches_to_other
FLOW(entered_inside_instruction, movl $0x90909090, %eax)
FLOW(jumps_into_instruction, jmp entered_inside_instruction + 4)

BEGIN(has_symbols)
    nop
has_symbols_local:
    nop
    .globl has_symbols_global
    .hidden has_symbols_global
has_symbols_global:
    nop
    .globl has_symbols_function
    .hidden has_symbols_function
    .type has_symbols_function, @function
has_symbols_function:
    nop
END(has_symbols)

FLOW(pointed_to, nop; nop; nop)
    .pushsection .data
    .p2align 3
    .quad pointed_to + 3, pointed_to, pointed_to + 1000000
    .popsection

/* --- Parts of functions ------------------------------------------------------------------- */

FLOW(whole, jmp whole.cold)
FLOW(whole.cold, jmp whole + 3)
FLOW(parted, jmp parted.cold.1.more)
FLOW(parted.cold.1.more, nop)
FLOW(coldish, nop)

/* Zeros behind the code. */
BEGIN(padded)
    ret
    .zero 7
    .size padded, . - padded
BEGIN(padded_badly)
    ret
    .zero 3
    .byte 6
    .size padded_badly, . - padded_badly

    .section .note.GNU-stack, "", @progbits
