/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions with more than one entry point: global labels inside a function's size, which are
 * called from secondary.c. See there for what they compute.
 */
#if defined(__x86_64__)
	.text
	.globl	sum_to, sum_to_from
	.type	sum_to, @function
	.type	sum_to_from, @function
sum_to:
	.cfi_startproc
	xorl	%esi, %esi
sum_to_from:
	movq	%rsi, %rax
	testq	%rdi, %rdi
	je	2f
1:	addq	%rdi, %rax
	decq	%rdi
	jne	1b
2:	ret
	.cfi_endproc
	.size	sum_to, . - sum_to

	.globl	collatz, collatz_triple, collatz_half
	.type	collatz, @function
	.type	collatz_triple, @function
	.type	collatz_half, @function
collatz:
	.cfi_startproc
1:	testq	$1, %rdi
	je	collatz_half
collatz_triple:
	leaq	1(%rdi,%rdi,2), %rdi
	decq	%rsi
	je	3f
	testq	$1, %rdi
	jne	2f
collatz_half:
	shrq	$1, %rdi
2:	decq	%rsi
	jg	1b
3:	movq	%rdi, %rax
	ret
	.cfi_endproc
	.size	collatz, . - collatz
#elif defined(__aarch64__)
	.text
	.globl	sum_to, sum_to_from
	.type	sum_to, %function
	.type	sum_to_from, %function
sum_to:
	.cfi_startproc
	mov	x1, xzr
sum_to_from:
	mov	x2, x1
	cbz	x0, 2f
1:	add	x2, x2, x0
	subs	x0, x0, #1
	b.ne	1b
2:	mov	x0, x2
	ret
	.cfi_endproc
	.size	sum_to, . - sum_to

	.globl	collatz, collatz_triple, collatz_half
	.type	collatz, %function
	.type	collatz_triple, %function
	.type	collatz_half, %function
collatz:
	.cfi_startproc
1:	tst	x0, #1
	b.eq	collatz_half
collatz_triple:
	add	x0, x0, x0, lsl #1
	add	x0, x0, #1
	subs	x1, x1, #1
	b.eq	3f
	tst	x0, #1
	b.ne	2f
collatz_half:
	lsr	x0, x0, #1
2:	subs	x1, x1, #1
	b.gt	1b
3:	ret
	.cfi_endproc
	.size	collatz, . - collatz
#else
#error "no assembly for this machine"
#endif
	.section .note.GNU-stack, "", %progbits
