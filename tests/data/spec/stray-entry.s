# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A tail call that BOLT copies into a cold fragment, so that the fragment gets an entry below its
# own start; .skip sets the distance so that this entry belongs to the equal prefix. README.md.
        .text
        .globl  _start
        .type   _start, @function
_start:
        mov     $100, %ebx
.Lnext:
        mov     %ebx, %edi
        call    work
        dec     %ebx
        jne     .Lnext
        xor     %edi, %edi
        mov     $60, %eax
        syscall
        .size   _start, .-_start

        .globl  leaf
        .type   leaf, @function
leaf:
        inc     %eax
        ret
        .size   leaf, .-leaf

        .globl  work
        .type   work, @function
work:
        test    %edi, %edi
        js      .Lnegative
        test    $1, %dil
        jne     .Ltail
        ret
.Ltail:
        jmp     leaf
        .skip   46, 0x90
.Lnegative:
        inc     %edi
        test    $2, %dil
        {disp32} jne .Ltail
        call    leaf
        ret
        .size   work, .-work

        .section .note.GNU-stack, "", @progbits
