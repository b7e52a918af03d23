#include "textflag.h"

// func callClockGettime(fn uintptr, id int64) (sec, nsec, errno int64)
//
// The code of the vDSO needs a C stack. It gets 8 KiB of this function's frame, that is, of the
// goroutine's stack, which the prologue makes large enough. The kernel's function needs some hundred
// bytes; one that a hardened compiler has made probes a page below them (go.dev/issue/20427).
// Nothing else uses that stack meanwhile: signals have their own (SA_ONSTACK), and Go neither
// preempts a goroutine in assembly or in code that it does not know, nor moves its stack there
// (runtime.isAsyncSafePoint). Nor does it unwind such a stack for a profile, because this function
// writes SP (runtime.unwinder, FuncFlagSPWrite). C keeps BX, BP and R12 to R15, and does not touch
// the thread's pointer.
TEXT ·callClockGettime(SB), 0, $8272-40
	MOVQ	fn+0(FP), AX
	MOVQ	id+8(FP), DI
	MOVQ	SP, BX
	LEAQ	8224(SP), CX
	ANDQ	$~15, CX
	MOVQ	CX, SI		// the timespec, above the stack of C
	MOVQ	CX, SP
	MOVQ	CX, R12
	CALL	AX
	MOVQ	0(R12), CX
	MOVQ	8(R12), DX
	MOVQ	BX, SP
	MOVQ	CX, sec+16(FP)
	MOVQ	DX, nsec+24(FP)
	MOVLQSX	AX, AX
	MOVQ	AX, errno+32(FP)
	RET
