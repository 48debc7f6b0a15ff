# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The program behind the worked example of spec/BAT.md: small, and with one of everything that a
# BAT note can hold. README.md says what each part is for.
        .text
        .globl  _start
        .type   _start, @function
_start:
        mov     $100, %ebx
.Lnext:
        mov     %ebx, %edi
        call    work
        mov     %ebx, %edi
        call    work_fast
        mov     %ebx, %edi
        call    work_once
        call    leaf
        call    leaf
        dec     %ebx
        jne     .Lnext
        xor     %edi, %edi
        mov     $60, %eax
        syscall
        .size   _start, .-_start

        .globl  work
        .type   work, @function
work:
        test    %edi, %edi
        js      .Lnegative              # never taken: its target becomes the cold fragment
        xor     %eax, %eax
.Lloop:
        add     %edi, %eax
        dec     %edi
        jns     .Lloop
        cmp     $1000, %eax
        jb      .Lsmall
        shr     $4, %eax                # the colder way: BOLT moves it behind the hotter one
        jmp     .Lcheck
.Lsmall:
        inc     %eax
.Lcheck:
        test    $1, %al
        jne     .Lodd
        .globl  work_fast               # a secondary entry point
work_fast:
        test    $2, %al
        jne     .Ltwo
        .globl  work_once               # another one
work_once:
        ret
.Lodd:                                  # BOLT turns the jumps to these two blocks into
        jmp     leaf                    # conditional tail calls and deletes the blocks
.Ltwo:
        jmp     leaf
.Lnegative:
        mov     $-1, %eax
        call    leaf
        ret
        .size   work, .-work

        .globl  leaf
        .type   leaf, @function
leaf:
        inc     %eax
        ret
        .size   leaf, .-leaf

        .section .note.GNU-stack, "", @progbits
