/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions with odd symbols, and code without any: each means something for who is who. */
    .text
    .file "odd.S"

    .globl assembly
    .hidden assembly
assembly:                       /* global, neither type nor size */
    nop
    mov $1, %eax
    ret
    nop
assembly_local:                 /* local, neither type nor size, behind it */
    mov $2, %eax
    ret

    .p2align 4
    .globl no_size
    .hidden no_size
    .type no_size, @function
no_size:
    mov $3, %eax
    ret
no_size_label:
    mov $4, %eax
    ret

    .p2align 4
    .globl sized
    .hidden sized
    .type sized, @function
sized:
    mov $5, %eax
    jz inner_local
    nop
    .globl inner_global
inner_global:                   /* no type, inside */
    nop
inner_local:
    nop
    .globl inner_function
    .type inner_function, @function
inner_function:                 /* a function inside a function */
    nop
    ret
    .size inner_function, .-inner_function
    .type inner_unsized, @function
inner_unsized:
    nop
    ret
    .size sized, .-sized

    .p2align 4, 0xcc
    .globl alias_global
    .hidden alias_global
    .weak alias_weak
    .type alias_global, @function
    .type alias_weak, @function
    .type alias_short, @function
    .type alias_local, @function
alias_local:
alias_weak:
alias_global:
alias_short:
    mov $6, %eax
    ret
    .size alias_global, .-alias_global
    .size alias_weak, .-alias_weak
    .size alias_short, 4
    .size alias_local, .-alias_local

    .p2align 4, 0
    .globl over
    .type over, @function
over:                           /* reaches into the next one */
    mov $7, %eax
    ret
    .size over, 20
    .p2align 4
    .globl under
    .type under, @function
under:
    mov $8, %eax
    ret
    .size under, .-under

    .p2align 5
    .globl short_size
    .type short_size, @function
short_size:                     /* goes on behind its size */
    mov $9, %eax
    jmp 1f
    .size short_size, .-short_size
1:  mov $10, %eax
    ret

    .p2align 4
    .type "with space", @function
"with space":
    ret
    .size "with space", 1
    .p2align 4
    .globl "a/b/c"
    .type "a/b/c", @function
    .type "in_its_shadow", @function
"in_its_shadow":
"a/b/c":
    ret
    .size "a/b/c", 1
    .p2align 4
    .type "l/m", @function
"l/m":
    ret
    .size "l/m", 1
    .p2align 4
    .globl .Lprivate
    .type .Lprivate, @function
.Lprivate:
    ret
    .size .Lprivate, 1

    .p2align 4
    .globl object
    .type object, @object
object:                         /* data among the code */
    .quad 1
    .size object, 8
    .globl after_object
    .hidden after_object
    .type after_object, @function
after_object:
    mov $1, %eax
    ret
    .size after_object, .-after_object

    .p2align 4
    .globl by_resolver
    .type by_resolver, @gnu_indirect_function
by_resolver:
    lea sized(%rip), %rax
    ret
    .size by_resolver, .-by_resolver

    .p2align 4
    .type split.cold, @function
split.cold:
    ret
    .size split.cold, 1
    .type split, @function
split:
    ret
    .size split, 1

    .p2align 4
    .cfi_startproc              /* no symbol at all */
    mov $20, %eax
    ret
    .cfi_endproc
    .globl fde_is_larger
    .type fde_is_larger, @function
fde_is_larger:
    .cfi_startproc
    mov $22, %eax
    .size fde_is_larger, 2
    ret
    .cfi_endproc
    nop
    .cfi_startproc
    nop
    .type in_the_middle, @function
in_the_middle:                  /* of an FDE, and without size */
    mov $23, %eax
    ret
    .cfi_endproc

    .p2align 4
    .globl gap_end
    .hidden gap_end
    .type gap_end, @function
gap_end:
    ret
    .size gap_end, 1

    .section .other, "ax", @progbits
other_local:
    nop
    ret
    .globl other_global
other_global:
    ret

    .section .nameless, "ax", @progbits
    nop
    ret

    .section .note.GNU-stack, "", @progbits
