/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A function that other functions end with, by a conditional branch; called from promoted.c. */
	.text
	.type	leave_even, @function
leave_even:
	.cfi_startproc
	testq	$2, %rdi
	jne	1f
	leaq	1(%rdi), %rax
	ret
1:	leaq	7(%rdi,%rdi), %rax
	testq	$4, %rdi
	je	2f
	incq	%rax
2:	ret
	.cfi_endproc
	.size	leave_even, . - leave_even

	.globl	leave
	.type	leave, @function
leave:
	.cfi_startproc
	testq	$1, %rdi
	je	leave_even
	incq	%rdi
	testq	$8, %rdi
	jne	leave_even
	leaq	3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leave, . - leave
	.section	.note.GNU-stack,"",%progbits
