/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* As odd_functions_x86.S, with data in code and the mapping symbols that tell it. */
    .text
    .file "odd.S"

    .globl assembly
    .hidden assembly
assembly:
    mov w0, #1
    ret
    nop
assembly_local:
    mov w0, #2
    ret

    .p2align 4
    .globl no_size
    .hidden no_size
    .type no_size, %function
no_size:
    mov w0, #3
    ret
no_size_label:
    mov w0, #4
    ret
    .word 0x12345678

    .p2align 4
    .globl sized
    .hidden sized
    .type sized, %function
sized:
    mov w0, #5
    .globl inner_global
inner_global:
    nop
inner_local:
    nop
    .globl inner_function
    .type inner_function, %function
inner_function:
    nop
    ret
    .size inner_function, .-inner_function
    .size sized, .-sized

    .p2align 4
    .globl alias_global
    .hidden alias_global
    .type alias_global, %function
    .type alias_local, %function
alias_local:
alias_global:
    mov w0, #6
    ret
    .size alias_global, .-alias_global
    .size alias_local, 4
    .word 0
    .word 0

    .globl after_object
    .hidden after_object
    .type after_object, %function
after_object:
    ldr w0, 1f
    ret
1:  .word 77
    .size after_object, .-after_object

    .cfi_startproc
    mov w0, #20
    ret
    .cfi_endproc

    .p2align 4
    .type by_resolver, %gnu_indirect_function
    .globl by_resolver
by_resolver:
    adrp x0, sized
    add x0, x0, :lo12:sized
    ret
    .size by_resolver, .-by_resolver

    .p2align 5
    .globl gap_end
    .hidden gap_end
    .type gap_end, %function
gap_end:
    ret
    .size gap_end, 4

    .section .note.GNU-stack, "", %progbits
