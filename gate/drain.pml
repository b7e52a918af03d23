/*
 * The fence of one daemon as epoch.go, guard.go and enter.go do it, for SPIN. scripts/model.sh runs it.
 *
 * Every atomic operation of Go is one step; threads stop between any two of them for as long as you like. The keeper opens
 * and closes the guard as package lease does: several epochs in a row, some interrupted by a failed renewal and reopened
 * with the same token. lease/protocol.pml rests on what is proven here, and proves what lies between daemons.
 *
 * The letter in an assert is the property (each letter is true by itself):
 *   D  when Close has returned, and LOCK_SH may go, no mutation of the epoch is at work
 *   T  a mutation that was let in under a token works while that very token is held
 *   F  while a lease is open nobody writes without one
 *   E  (no assert: SPIN finds an end state that is none) Close and Open return once the mutations have left
 * Options: HOLD also a handover, which holds an epoch up and has the keeper claim the next token, FREE also writers without a lease (on_free: allow), HANDLES they go on through their handles,
 *   STRICT  F also while an epoch is drained and while a failed renewal may still be mended
 *   AGAIN   enterFree asks once more what it had decided by, after it has counted
 * Removed rules, each described where it bites: M_ORDER, M_NODRAIN, M_STALEZERO, M_LASTLEAVE, M_SAMEEPOCH, M_NOFLAG,
 * M_NOOPEN, M_FREELATE, M_HOLDNODRAIN, M_HOLDBROKEN, M_HOLDCLOSED.
 */
mtype = { D, T, F };

#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef TOKENS
#define TOKENS 2
#endif
#ifndef REOPENS
#define REOPENS 1          /* how often a failed renewal is mended */
#endif
#ifndef TRIES
#define TRIES 2            /* how often a handover is tried */
#endif
#define EPOCHS (2*TOKENS+REOPENS+3)
#define NIL 0

/* type epoch, by number of the object. */
byte inflight[EPOCHS];
byte stopped[EPOCHS];      /* stopped: nil, a hold, or the end */
#define HELD 1
#define ENDED 2
byte awaited[EPOCHS];      /* awaited: the drain of end, and the latest of a hold by its number */
bool idle[EPOCHS];         /* the moment of end has come */
byte quiet[EPOCHS];        /* that of the hold of this number has come */
#define END 1
#define HOLD_(n) ((n)<<1)
byte token[EPOCHS];        /* id: 0 for an epoch without a lease */
byte made = 0;

/* type Guard. */
byte open = NIL, free = NIL;
byte tok = 0;              /* the keeper's latest token */
byte interrupts = 0;       /* of the epoch that is held */
bool taken = false;        /* the keeper is at work on a handover, which waits for it */
byte handing = NIL, since; /* handover: the epoch that is frozen, and interrupts when that began */
bool opening = false, closing = false, failed = false; /* closing != nil; loss.Kind == LossRenewFailed */

bool headfree = true;      /* Observe: the head's state is lease.Free */

/* What the properties speak of. */
byte held = 0;             /* LOCK_SH is held for this token */
bool drained[EPOCHS];      /* end has returned */
bool alone = false;        /* nobody may write without a lease */

inline newEpoch(e, t) {
	d_step { made++; assert(made < EPOCHS); e = made; token[e] = t }
}

/* epoch.leave. */
inline leave(e) {
	atomic { inflight[e]--; last = (inflight[e] == 0) };
	if :: last -> for_ = awaited[e]; last = (for_ != 0) :: else fi;
#ifndef M_STALEZERO        /* the count was zero before the end was seen, and may not be any more */
	if :: last -> last = (inflight[e] == 0) :: else fi;
#endif
	if
	:: last -> emptied(e, for_); last = false
	:: else
	fi;
	for_ = 0
}

/* epoch.emptied: those are told that had been seen, and forgotten if there are no others. */
inline emptied(e, who) {
	atomic {
		if :: who & END -> idle[e] = true :: else fi;
		if :: (who>>1) > quiet[e] -> quiet[e] = who>>1 :: else fi;
		if :: awaited[e] == who -> awaited[e] = 0 :: else fi
	}
}

/* epoch.enter. That the deadline has passed is one more reason to say no, at any moment. */
inline enter(e) {
#ifdef M_ORDER             /* looked first, counted afterwards */
	ok = (stopped[e] == 0);
	inflight[e]++;
#else
	inflight[e]++;
	ok = (stopped[e] == 0);
#endif
	if :: ok :: ok = false fi;
	if
	:: !ok -> leave(e)
	:: else
	fi
}

/* epoch.end. */
inline end(e) {
	stopped[e] = ENDED;
	awaited[e] = awaited[e] | END;                                /* CompareAndSwap: on top of what a hold awaits */
#ifndef M_LASTLEAVE        /* only the last one to leave says that all have left */
	if
	:: inflight[e] == 0 -> emptied(e, END)
	:: else
	fi;
#endif
#ifndef M_NODRAIN          /* nobody waits */
	idle[e];
#endif
	drained[e] = true
}

/* Guard.Open. */
inline Open(t) {
	opening = true;
#ifndef M_FREELATE         /* writers without a lease are drained after the lease has opened */
	atomic { f = free; free = NIL };
	if :: f != NIL -> end(f); f = NIL :: else fi;
#endif
#ifdef M_SAMEEPOCH         /* a reopened epoch is the old one again, not a new one with the old token */
	if
	:: e != NIL && token[e] == t -> stopped[e] = 0; drained[e] = false
	:: else -> newEpoch(e, t)
	fi;
#else
	newEpoch(e, t);
#endif
	failed = false;
	atomic { open = e; alone = true };
#ifdef M_FREELATE
	atomic { f = free; free = NIL };
	if :: f != NIL -> end(f); f = NIL :: else fi;
#endif
	opening = false
}

/* Guard.Close. */
inline Close(why) {
	atomic {
		closing = true; failed = why; e = open; open = NIL;
		if :: why -> interrupts++ :: else fi;         /* interrupt, by the same holder of op */
#ifndef STRICT
		alone = false
#endif
	};
	if
	:: e != NIL -> end(e)
	:: else
	fi;
	closing = false
}

/* lease.Keeper: take and arm, renewals, interrupt, lose; transfer and follow of a handover. It does one at a time (op). */
active proctype Keeper() {
	byte t = 0, e = NIL, f = NIL, reopens = 0;
	do
	:: t < TOKENS ->
		d_step { t++; interrupts = 0; tok = t };
		headfree = false;                                     /* claim.link */
		held = t;                                             /* gateLock.downgrade */
		Open(t);
		do
		:: reopens < REOPENS ->                               /* interrupt */
			reopens++;
			Close(true);
			held = 0;
			if
			:: held = t; Open(t)                          /* extend */
			:: break
			fi
#ifdef HOLD
		:: atomic { (t < TOKENS && handing != NIL                      /* transfer: same */
#ifndef M_HOLDCLOSED       /* a hold of an epoch that was over already counts */
			&& token[handing] == t
#endif
#ifndef M_HOLDBROKEN       /* an epoch that was closed and opened anew counts as frozen */
			&& since == interrupts
#endif
			) -> t++; interrupts = 0; tok = t; taken = true };
			held = t;                                     /* linkHandover */
			Close(false);                                 /* follow */
			d_step { handing = NIL; taken = false };
			Open(t)
#endif
		:: break
		od;
		Close(false);                                         /* loseKeeping */
		d_step { alone = false; e = NIL };
		if
		:: headfree = true                                    /* markReleased */
		:: skip                                               /* the record runs out, or is another's */
		fi;
		held = 0
	:: break
	od
}

#ifdef HOLD
/* Keeper.Handover: handable, Guard.Hold, and then the keeper's turn; it may be given up at any moment. */
active proctype Handover() {
	byte e = NIL, began = 0, mine = 0, n = 0;
	bool ok = false;
	do
	:: atomic { (n < TRIES && open != NIL) -> n++; mine = tok; began = interrupts };  /* handable, with op: the epoch is open */
		e = open;                                             /* Guard.Hold */
		if
		:: e != NIL && token[e] == mine ->
			atomic {                                      /* CompareAndSwap */
				ok = (stopped[e] == 0);
				if :: ok -> stopped[e] = HELD :: else fi
			};
			if
			:: ok ->
				awaited[e] = (awaited[e] & END) | HOLD_(n); /* drain */
				if
				:: inflight[e] == 0 -> emptied(e, HOLD_(n))
				:: else
				fi;
				if
#ifdef M_HOLDNODRAIN       /* a hold does not wait */
				:: skip
#else
				:: quiet[e] == n -> skip
#endif
				:: ok = false                         /* not in time */
				fi;
#ifndef M_HOLDCLOSED
				if :: ok -> ok = (stopped[e] == HELD) :: else fi;
#endif
				if
				:: ok ->
					atomic { handing = e; since = began };
					if
					:: handing == NIL             /* done */
					:: atomic { (handing != NIL && !taken) -> handing = NIL } /* given up before op was had */
					fi
				:: else
				fi;
				atomic {                              /* resume */
					if
					:: stopped[e] == HELD -> stopped[e] = 0
					:: else
					fi
				}
			:: else
			fi
		:: else
		fi;
		d_step { e = NIL; ok = false; began = 0; mine = 0 }
	:: break
	od
}
#endif

/* A writer of the holder: Guard.judgeWriter, or judgeHandle with the token of its handle. */
proctype Writer() {
	byte e = NIL, mine = 0, for_ = 0;
	bool ok = false, last = false;
	do
	:: e = open;
		if
		:: e == NIL || (mine != 0 && token[e] != mine)        /* refused: enterIf */
		:: else ->
			enter(e);
			if
			:: ok ->
				/* paused here for as long as you like */
				atomic {                              /* the backing call takes effect */
					assert(D && !drained[e]); /* no write after "released" was reported */
					assert(T && held == token[e]) /* no write under a token that was given up */
				};
				if :: mine = token[e] :: skip fi;     /* the handle that was opened, if any */
				leave(e)
			:: else
			fi
		fi;
		d_step { e = NIL; ok = false }
	:: break                                                      /* a writer may stop for good */
	od
}

#ifdef FREE
/* A writer without a lease: Guard.judgeWriter to enterFree, and judgeHandle. */
proctype FreeWriter() {
	byte e = NIL, mine = NIL, for_ = 0;
	bool ok = false, last = false;
	do
	:: ok = (open == NIL);                                        /* judgeWriter: gather */
		if :: ok -> atomic { ok = !closing && !failed } :: else fi; /* under mu */
		if :: ok -> ok = headfree :: else fi;                 /* Observe */
		if
		:: ok ->                                              /* decide: passFree */
			e = free;                                     /* enterFree */
			if
			:: e == NIL ->
				atomic {                              /* CompareAndSwap */
					if
					:: free == NIL -> newEpoch(e, 0); free = e
					:: else -> ok = false
					fi
				}
			:: else
			fi;
			if :: ok -> enter(e) :: else fi;
#ifdef AGAIN
			if
			:: ok ->                                      /* counted first, looked at afterwards */
				atomic { ok = !closing && !failed };
				if :: ok -> ok = headfree :: else fi;
				if :: !ok -> leave(e) :: else fi
			:: else
			fi;
#endif
#ifndef M_NOFLAG           /* nobody looks whether a lease is about to open */
			if :: ok && opening -> leave(e); ok = false :: else fi;
#endif
#ifndef M_NOOPEN           /* nobody looks whether a lease is open */
			if :: ok && open != NIL -> leave(e); ok = false :: else fi;
#endif
			if
			:: ok ->
				atomic {
					assert(F && !alone); /* the holder writes alone */
					assert(D && !drained[e]) /* nor one that began without a lease */
				};
				mine = e;
				leave(e)
			:: else
			fi
		:: else
		fi;
		d_step { e = NIL; ok = false }
#ifdef HANDLES
	:: mine != NIL ->                                             /* judgeHandle, leaseless */
		ok = headfree;                                        /* Observe */
		if
		:: ok ->
			e = free;
			if
			:: e == mine ->                               /* enterIf */
				enter(e);
				if
				:: ok ->
					atomic {
						assert(F && !alone); /* the holder writes alone */
						assert(D && !drained[e]) /* nor one that began without a lease */
					};
					leave(e)
				:: else
				fi
			:: else
			fi
		:: else
		fi;
		d_step { e = NIL; ok = false }
#endif
	:: break                                                      /* a writer may stop for good */
	od
}
#endif

init {
	byte i = 0;
	atomic {
		do
		:: i < WRITERS -> run Writer(); i++
		:: else -> i = 0; break
		od;
#ifdef FREE
		run FreeWriter()
#endif
	}
}
