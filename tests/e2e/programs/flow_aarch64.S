/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* As flow_x86.S, for AArch64. Words are instructions that the assembler may not know. */
#define BEGIN(name)                                                                                \
    .p2align 4;                                                                                    \
    .globl name;                                                                                   \
    .hidden name;                                                                                  \
    .type name, %function;                                                                         \
    name: mov x3, x3;                                                                              \
    5:
#define END(name)                                                                                  \
    mov x4, x4;                                                                                    \
    mov x5, x5;                                                                                    \
    1: mov x6, x6;                                                                                 \
    2: mov x7, x7;                                                                                 \
    3: mov x8, x8;                                                                                 \
    ret;                                                                                           \
    9: .size name, . - name
#define FLOW(name, ...)                                                                            \
    BEGIN(name) __VA_ARGS__;                                                                       \
    END(name)

    .text
    .globl outside
    .hidden outside
    .type outside, %function
outside:
    nop
    nop
    ret
    .size outside, . - outside

/* --- Which instructions end a block ------------------------------------------------------- */

FLOW(ends_brk, brk #1)
FLOW(ends_udf, udf #1)
FLOW(ends_zero, .inst 0)
FLOW(ends_eret, eret)
FLOW(ends_eretaa, .inst 0xd69f0bff)
FLOW(ends_drps, .inst 0xd6bf03e0)
FLOW(ends_ret, ret x1)
FLOW(ends_retaa, .inst 0xd65f0bff)
FLOW(ends_retab, .inst 0xd65f0fff)
FLOW(ends_br, br x1)
FLOW(ends_braaz, .inst 0xd61f083f)
FLOW(ends_braa, .inst 0xd71f0822)
FLOW(goes_on_system, hlt #1; svc #0; hvc #0; smc #0; wfi; isb; hint #34)
FLOW(goes_on_calls, blr x1; .inst 0xd63f083f; .inst 0xd73f0822; bl outside)
FLOW(ends_conditional, b.ne 1f; .inst 0x54000070; cbz x1, 2f; cbnz w1, 3f; tbz x1, #33, 1f;
     tbnz w1, #3, 2f)
FLOW(ends_compare, .inst 0x74020061; .inst 0xf4020061; .inst 0x75020061; .inst 0x74028061;
     .inst 0x7402c061; .inst 0xf5c20061; nop; nop; nop)

/* --- Branches inside and out -------------------------------------------------------------- */

FLOW(shares_conditional, b.ne 1f; b 2f)
FLOW(shares_tail_call, b outside; b 1f)
FLOW(shares_trap, brk #1; b 1f)
FLOW(alone_return, ret; b 1f)
FLOW(alone_conditional_tail_call, b.ne outside; b 1f; cbz x1, outside; b outside)
FLOW(conditional_tail_call, b.ne outside; cbz x1, outside; tbz x1, #3, outside; bl outside)
FLOW(to_next, b 4f; 4: cbz x1, 4f; 4: bl 4f; 4: nop)
FLOW(to_start, b.ne to_start; b to_start)
FLOW(calls_itself, bl calls_itself; bl 2f)
FLOW(to_padding, b.ne 9f; b 9f; bl 9f)

/* --- Addresses of its own code ------------------------------------------------------------ */

FLOW(takes_address, adr x0, 2f)
FLOW(takes_page, adrp x0, 2f; add x0, x0, :lo12:2f)
FLOW(reads_code, ldr x0, 1f; ldr w0, 2f; ldrsw x0, 3f)
FLOW(reads_code_vector, ldr q0, 2f; prfm pldl1keep, 3f)
FLOW(switches, adr x1, 4f; add x1, x1, w0, sxtb #2; br x1; 4: b 1f; b 2f)

/* --- Data among code ---------------------------------------------------------------------- */

BEGIN(has_literals)
    ldr x0, 4f
    ldr w1, 6f
    b 1f
    .p2align 3
4:  .xword 0xffffffffffffffff
6:  .word 0x54000001, 0xd65f03c0
END(has_literals)
BEGIN(ends_in_literals)
    ldr x0, 4f
    ret
    .p2align 3
4:  .xword 0x123456789abcdef0
    .size ends_in_literals, . - ends_in_literals
FLOW(behind_literals, nop)

/* --- Entered from elsewhere --------------------------------------------------------------- */

FLOW(entered_by_call, nop; nop)
FLOW(calls_other, bl entered_by_call + 4)
FLOW(entered_by_branch, nop; nop)
FLOW(branches_to_other, cbz x1, entered_by_branch + 8)
FLOW(entered_by_address, nop; nop)
FLOW(takes_other, adr x0, entered_by_address + 8)
FLOW(entered_by_page, nop; nop)
FLOW(takes_other_page, adrp x0, entered_by_page + 8; add x0, x0, :lo12:entered_by_page + 8)

BEGIN(has_symbols)
    nop
has_symbols_local:
    nop
    .globl has_symbols_global
    .hidden has_symbols_global
has_symbols_global:
    nop
END(has_symbols)

FLOW(pointed_to, nop; nop; nop)
    .pushsection .data
    .p2align 3
    .xword pointed_to + 8, pointed_to, pointed_to + 1000000
    .popsection

/* --- Parts of functions ------------------------------------------------------------------- */

FLOW(whole, b whole.cold)
FLOW(whole.cold, b whole + 4)
FLOW(coldish, nop)

    .section .note.GNU-stack, "", %progbits
