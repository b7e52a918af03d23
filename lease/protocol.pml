/*
 * The lease protocol as the Go code of this package does it, for SPIN. scripts/model.sh runs it.
 *
 * Without -DTIMED: tier A, and no clock at all. Any host may decide at any moment that a lease has expired, a deadline may
 * come at any moment, a renewal may fail at any moment, so no assumption about clocks is left to be wrong. Every daemon may
 * be paused for ever between any two steps and killed at any step (CRASHES of them; it starts again with an empty memory),
 * and link(2) may do its work and lose its reply. Waits for a lock may be given up at any moment. Writers never stop writing.
 * That an epoch which has ended is drained is proven apart, by gate/drain.pml; here it is one step.
 *
 * With -DTIMED (second half): no flock at all (tiers B and C), perfect clock rates, and the only bound is DELAY, from the
 * look at the deadline to the effect of a write.
 *
 * What a step stands for is said beside it. The letter in an assert is the property (each letter is true by itself):
 *   U  two holders never have the same token, and tokens only grow
 *   S  no write of an older token reaches the files once a newer token exists
 *   R  nobody is robbed: a claim follows one that was released, that was seen expired and not renewed since, or that was
 *      the taker's own
 *   K  a worktree is never locked by a claim whose own daemon believes that it lost
 *   V  <id>.lock is never put back to an older holder, and in the end it shows who holds
 *   A  nobody starts to write under a token when a higher one exists
 *   L  a write that came too late is not acknowledged
 *
 * A rule is removed with -DM_...; each is described where it bites. Options: N daemons, MAXTOK tokens, CRASHES,
 *   ONLYS      S alone is looked at: how a removed rule breaks it, whatever else it breaks before
 *   NOWRITERS  no writers: what remains are U, R, K, V and A
 *   QUIET      when all daemons have stopped, <id>.lock shows the holder (needs NOWRITERS, CRASHES=0)
 *   FOREIGN    a tool without these rules writes an <id>.lock with a token above the head, once
 *   CLI        `jvsfs lock release` in a process without a keeper marks the head released, once
 * With M_NOEX and NOWRITERS it is tier C: what is left where flock proves nothing.
 */
mtype = { U, S, R, K, V, A, L };

#ifndef TIMED

#ifndef N
#define N 2
#endif
#ifndef MAXTOK
#define MAXTOK 3
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifdef FOREIGN
#define TOP (MAXTOK+3)
#else
#define TOP (MAXTOK+2)
#endif
#ifdef ONLYS
#define also(x) true
#else
#define also(x) assert(x)
#endif
#define NOBODY 9           /* a nonce whose daemon has died: nobody alive knows it */

/* The lock directory. */
byte nonce[TOP];           /* <id>.claim.<t>: 0 absent, else whose nonce it carries */
bool released[TOP];        /* its mark */
byte view = 0;             /* <id>.lock is a hard link to claim <view>; 0 absent */
byte foreign = 0;          /* the token that a foreign <id>.lock has, 0 none */
byte head = 0;             /* the highest claim: Store.highest */

/* flock on <id>.gate and <id>.turn, by open file description. */
#ifdef M_SHAREDFD          /* all daemons use one open file description, inherited or passed */
#define FD(h) 1
#else
#define FD(h) h
#endif
bool sh[N+1];
byte ex = 0, turn = 0;
#define others_sh(f) ((f != 1 && sh[1]) || (f != 2 && sh[2]) || (N > 2 && f != N && sh[N]))

/* The daemons' memory. */
byte cur[N+1];             /* Keeper.cur: the token that is held or interrupted */
byte fence[N+1];           /* the token of the open epoch of the fence, 0 closed */
byte lapsed[N+1];          /* Keeper.lapsed */
byte inflight[N+1];        /* mutations that have entered and not left */
bool killK[N+1], killW[N+1];
byte judged[N+1];          /* for R: 1 between a look and its link, 2 if a renewal counted in between */

#define SHARED_FREE(f) (ex == 0 || ex == f)
#define EX_FREE(f) ((ex == 0 || ex == f) && !others_sh(f))

/* gateLock.shared: LOCK_SH|LOCK_NB. */
inline shared(ok) {
#ifdef M_NOSH              /* the holder takes no LOCK_SH */
	ok = true
#else
	atomic { if :: SHARED_FREE(FD(h)) -> sh[FD(h)] = true; ex = 0; ok = true :: else -> ok = false fi }
#endif
}

/* gateLock.unlock: the gate, then the turn. */
inline unlock() {
	atomic { sh[FD(h)] = false; if :: ex == FD(h) -> ex = 0 :: else fi };
	atomic { if :: turn == FD(h) -> turn = 0 :: else fi }
}

/* gateLock.poll of the turn, then of the gate, each given up at any moment. A conversion of flock first removes what is
   held; only then it asks. */
inline takeTurn(ok) {
#if defined(M_NOEX) || defined(M_NOTURN)
	ok = true
#else
	if
	:: atomic { turn == 0 || turn == FD(h) -> turn = FD(h); ok = true }
	:: ok = false
	fi
#endif
}
inline takeGate(ok) {
#ifdef M_NOEX              /* the taker takes no LOCK_EX */
	ok = true
#else
	if :: sh[FD(h)] && ex == 0 && others_sh(FD(h)) -> sh[FD(h)] = false :: else fi;
	if
	:: atomic { EX_FREE(FD(h)) -> ex = FD(h); sh[FD(h)] = false; ok = true }
	:: ok = false
	fi
#endif
}

/* gateLock.downgrade: LOCK_EX to LOCK_SH, which is not one step in the kernel, under the turn. */
inline downgrade(ok) {
	atomic { if :: ex == FD(h) -> ex = 0 :: else fi };
	shared(ok);
	atomic { if :: turn == FD(h) -> turn = 0 :: else fi }
}

/* Store.putView: link the claim to a temporary name, rename that over <id>.lock. */
inline putView(v) {
	atomic {
#ifndef M_NOEX             /* without the gate a late publisher hides a newer holder for a moment, and mends it */
		also(V && view <= v); /* a late publisher never hides who holds now */
#endif
		view = v; foreign = 0
	}
}

/* claim.publish. */
inline publish(v) {
	x = v;
	putView(x);
	do
	:: atomic { head > x -> x = head }; putView(x)
	:: atomic { head <= x -> x = 0 }; break
	od
}

/* claim.withdraw: look, rename aside, look, put back by link what is not ours. */
inline withdraw(v) {
	if
	:: view == v && foreign == 0 ->
		atomic { x = view; view = 0; if :: foreign != 0 -> x = 0; foreign = 0 :: else fi };
		if
		:: x != 0 && x != v -> atomic { if :: view == 0 -> view = x :: else fi }
		:: else
		fi;
		x = 0
	:: else
	fi
}

/* claim.markReleased. bad: it may fail, then lose keeps the claim in lapsed. */
inline markReleased(v, bad) {
#ifdef M_RENAME            /* release removes <id>.lock, renew renames over it, as in the letter of the spec */
	atomic {
		also(V && view <= v); /* a late release never destroys the successor's record */
		released[v] = true; view = 0
	}
#else
	if
	:: released[v] = true; withdraw(v)
	:: bad = true
	fi
#endif
}

/* Fence.Close: refuse, drain. */
inline closeFence() {
	fence[h] = 0;
#ifndef M_NODRAIN          /* LOCK_SH is let go with writes still in flight */
	inflight[h] == 0;
#endif
}

/* ending.end for a lease given back (gives), expired (lapses) or superseded (neither). */
inline lose(gives, lapses, keepGate) {
	bad = false;
	closeFence();
	t = cur[h];
	cur[h] = 0;
	if :: gives -> markReleased(t, bad) :: else fi;
	if :: !keepGate || bad -> unlock() :: else fi;
	d_step { if :: lapses || bad -> lapsed[h] = t :: else fi; t = 0 }
}

/* taking.look and Judge. verdict FREE, OWN (taking.isOwn) or OVER; false when the answer is a conflict. */
#define NONE 0
#define FREE 1
#define OWN 2
#define OVER 3
inline look() {
	atomic {
		H = head; verdict = NONE; judged[h] = 1;
		if
		:: foreign > head -> H = foreign; if :: verdict = OVER :: skip fi
		:: else ->
			if
			:: H == 0 || released[H] -> verdict = FREE
#ifdef M_RESUME            /* the holder's lapsed lease is continued whatever the head is */
			:: H != 0 && !released[H] && resume && lapsed[h] != 0 -> verdict = OWN
#else
			:: H != 0 && !released[H] && resume && lapsed[h] == H -> verdict = OWN
#endif
			:: H != 0 && !released[H] -> verdict = OVER   /* its time is over by this host's clock */
			:: H != 0 && !released[H]                     /* it is not */
			fi
		fi
	}
}

/* claim.link: what link(2) returned does not matter, the name is read back. */
inline link(won) {
#ifdef M_CREATE            /* look that the name is free, then rename onto it */
	won = (nonce[H+1] == 0);
	if
	:: won -> atomic {
			also(U && nonce[H+1] == 0 && H + 1 > head); /* nobody else gets this token */
			nonce[H+1] = h; head = H + 1 }
	:: else
	fi
#else
	atomic {
		if
		:: nonce[H+1] == 0 ->
#if !defined(FOREIGN) || !defined(M_NOEX)
			also(U && H + 1 > head); /* every token is above all before it */
#endif
			also(R && (verdict != OWN || nonce[H] == h)); /* only the own lease is continued before its time */
			also(R && (verdict != FREE || H == 0 || released[H])); /* what was called free was released */
#ifndef M_NOEX
			also(R && (verdict != OVER || judged[h] == 1)); /* what was called over was not renewed since */
#endif
			nonce[H+1] = h;
			if :: H + 1 > head -> head = H + 1 :: else fi;
			if :: won = true :: won = false fi            /* the reply may be lost */
		:: else -> won = false                                /* EEXIST */
		fi
	};
#ifndef M_REPLY            /* the return code of link is believed */
	won = (nonce[H+1] == h);
#endif
	also(K && won == (nonce[H+1] == h)) /* who is locked out knows by whom: not by its own lost claim */
#endif
}

/* taking.claim, win and arm. The caller has LOCK_EX; afterwards this daemon has LOCK_SH or nothing. */
inline claimNext() {
#ifndef M_ONELOOK          /* what was seen before the gate is good enough */
	look();
#endif
	if
	:: verdict == NONE || H >= MAXTOK -> unlock()
	:: else ->
		link(ok);
		if
		:: !ok -> unlock()
		:: else ->
			t = H + 1;
			publish(t);
			/* arm: a successor? LOCK_SH; the deadline may have come */
			atomic {
#ifdef M_NEXTONLY          /* a look at the next token alone: a foreign view leaves a gap in the tokens */
				ok = (nonce[t+1] == 0);
#else
				ok = (head <= t);
#endif
				also(A && (!ok || head <= t)) /* nobody starts to write who is superseded already */
			};
			if :: ok -> downgrade(ok) :: else fi;
			if :: ok :: ok = false fi;
			if
			:: !ok -> bad = false; markReleased(t, bad); unlock(); t = 0 /* giveBack */
			:: else ->
#ifndef M_NOEX
				also(A && head <= t); /* ... nor is, until LOCK_SH is had and the fence opens */
#endif
				d_step { lapsed[h] = 0; cur[h] = t };
				d_step { fence[h] = t; t = 0 }        /* Fence.Open */
			fi
		fi
	fi
}

#ifdef M_REOPEN_NOLOOK     /* a renewal, and so a reopening, looks for no successor */
#define NOLOOK true
#else
#define NOLOOK false
#endif

/* renewal.renew, open or interrupted, and what renewOrClose makes of it. */
inline renewOrClose() {
	t = cur[h];
	ok = true;
	if
	:: fence[h] != 0                                              /* ready: gateLock.intact */
	:: else ->
#ifndef M_REOPEN_NOSH      /* an interrupted epoch reopens without LOCK_SH */
		shared(ok)                                            /* ready: LOCK_SH again, or no */
#endif
	fi;
	if :: ok :: ok = false fi;                                    /* a clock was set, the store failed */
#ifdef CLI
	if :: ok && released[t] -> ok = false :: else fi;             /* claim.check: marked released by somebody else */
#endif
	/* claim.rewrite touches the own inode alone, whatever the head is by now */
#ifdef CLI
	if :: ok -> released[t] = false :: else fi;
#endif
#ifdef M_RENAME
	if :: ok -> putView(t) :: else fi;
#endif
	if
	:: !NOLOOK && (head > t || foreign > t) -> t = 0; lose(false, false, false) /* stillOurs: LossSuperseded */
	:: t != 0 && !ok ->                                           /* interrupt: the claim stays, the epoch ends */
		t = 0; closeFence(); unlock()
	:: t != 0 && ok && (head <= t || NOLOOK) ->
		if
		:: view != t && head <= t -> publish(t)               /* repairView */
		:: else
		fi;
		if
		:: d_step {                                           /* extend: Fence.Open or Extend */
			fence[h] = t; t = 0;
			do
			:: t <= N -> if :: judged[t] == 1 -> judged[t] = 2 :: else fi; t++
			:: else -> t = 0; break
			od }
		:: t = 0; lose(false, true, false)                    /* the old deadline has passed: expire */
		fi
	fi
}

/* resumption.goOn: the deadline has come, and the holder goes on under the next token, by the LOCK_SH that it has. What drops
   that (a failed renewal, an offer) has closed the fence. A holder that was stopped alone expires and takes its lease as any
   taker does: verdict OWN of look. */
#ifdef M_GOON_NOSH         /* an epoch that is not open, and so without LOCK_SH, goes on, too */
#define MAYGOON (cur[h] != 0)
#else
#define MAYGOON (cur[h] != 0 && fence[h] != 0)
#endif
inline goOn() {
	t = cur[h];
#ifndef M_GOON_NODRAIN     /* the next token is claimed with writes of the old one still in flight */
	closeFence();
#endif
	d_step {
		H = t; verdict = OWN; judged[h] = 1;
		ok = (head <= t && foreign <= t && !released[t])      /* claim.unreleased */
	};
	if :: ok :: ok = false fi;                                    /* the store failed */
	if :: ok -> link(ok) :: else fi;
	if
	:: !ok -> t = 0; lose(false, true, false)
	:: else ->
		t = H + 1;
		publish(t);
		ok = (head <= t && foreign <= t);
		if :: ok :: ok = false fi;                            /* this deadline has come, too */
		if
		:: !ok -> bad = false; markReleased(t, bad); t = 0; lose(false, true, false)
		:: else ->
			also(A && head <= t);                         /* nobody starts to write who is superseded already */
			d_step { lapsed[h] = 0; cur[h] = t };
			d_step { fence[h] = t; t = 0 }                /* Fence.Open */
		fi
	fi
}

/* One keeper. Its operations exclude each other (Keeper.enter), so it is one process. */
proctype Keeper(byte h) {
	byte H = 0, t = 0, x = 0, verdict = 0;
	bool ok = false, bad = false, resume = false;
start:
	{
	do
	:: cur[h] == 0 && head < MAXTOK ->                            /* Acquire (resume) or Steal: Keeper.take */
		if :: resume = true :: resume = false fi;
		look();
		if
		:: verdict == NONE
		:: else ->
			takeTurn(ok);                                 /* gateLock.exclusive */
			if
			:: ok -> takeGate(ok); if :: ok -> claimNext() :: else -> unlock() fi
			:: else
			fi
		fi;
		d_step { judged[h] = 0; H = 0; t = 0; x = 0; verdict = 0; ok = false; bad = false; resume = false }
	:: cur[h] != 0 && head < MAXTOK ->                            /* Replace: give it to another holder of this daemon */
		takeTurn(ok);
		if
		:: ok ->
			lose(true, false, true);
			if
			:: bad                                        /* lose has let everything go */
			:: else -> takeGate(ok); if :: ok -> claimNext() :: else -> unlock() fi
			fi
		:: else
		fi;
		d_step { judged[h] = 0; H = 0; t = 0; x = 0; verdict = 0; ok = false; bad = false }
	:: cur[h] != 0 -> renewOrClose(); ok = false; bad = false     /* Renew, stepRenew, again */
	:: cur[h] != 0 -> lose(true, false, false); bad = false       /* Release, Close, holder gone, idle */
	:: cur[h] != 0 -> lose(false, true, false)                    /* expire: its deadline may come at any moment */
#ifndef M_NOEX
	:: MAYGOON && cur[h] < MAXTOK -> goOn();                      /* lapse: after its deadline */
		d_step { judged[h] = 0; H = 0; t = 0; x = 0; verdict = 0; ok = false; bad = false }
#endif
	:: cur[h] != 0 && nonce[cur[h]+1] != 0 -> lose(false, false, false) /* step: a successor is seen */
#ifdef QUIET
	:: break
#endif
	od
	} unless {
		atomic { killK[h] -> killK[h] = false; judged[h] = 0; H = 0; t = 0; x = 0; verdict = 0; ok = false; bad = false; resume = false; goto start }
	}
}

/* The writers of one daemon, through Guard.Enter and Pass.End. */
proctype Writer(byte h) {
	byte t = 0;
start:
	{
	do
	:: atomic { fence[h] != 0 -> inflight[h]++; t = fence[h] };
		/* paused here for as long as you like */
		atomic {
			assert(S && head <= t); /* a stale write never lands on a newer holder's files */
			inflight[h]--; t = 0
		}
	od
	} unless {
		atomic { killW[h] -> killW[h] = false; t = 0; goto start }
	}
}

/* SIGKILL: both threads end, the kernel drops the locks, the nonces are forgotten. */
#if CRASHES > 0
active proctype Killer() {
	byte n = 0, h = 1, i = 0;
	do
	:: n < CRASHES ->
		if :: h = 1 :: h = 2 :: N > 2 -> h = N fi;
		atomic {
			n++;
			killK[h] = true;
#ifndef NOWRITERS
			killW[h] = true;
#endif
			sh[FD(h)] = false;
			if :: ex == FD(h) -> ex = 0 :: else fi;
			if :: turn == FD(h) -> turn = 0 :: else fi;
			cur[h] = 0; fence[h] = 0; lapsed[h] = 0; inflight[h] = 0;
			i = 1;
			do
			:: i < TOP -> if :: nonce[i] == h -> nonce[i] = NOBODY :: else fi; i++
			:: else -> i = 0; break
			od;
			h = 1
		}
	:: n >= CRASHES -> break
	od
}
#endif

#ifdef FOREIGN
active proctype Foreigner() {
	atomic { head + 1 < MAXTOK -> foreign = head + 1; view = 0 }
}
#endif

#ifdef CLI
active proctype Cli() {    /* claimFile.release */
	byte v = 0, x = 0;
	atomic { head != 0 -> v = head };
	released[v] = true;
	withdraw(v)
}
#endif

init {
	byte i = 1;
	atomic {
		do
		:: i <= N -> run Keeper(i);
#ifndef NOWRITERS
			run Writer(i);
#endif
			i++
		:: else -> i = 0; break
		od
	};
#ifdef QUIET
	_nr_pr == 1;
	i = 1;
	do
	:: i <= N ->
		also(V && (fence[i] == 0 || fence[i] != head || view == head)); /* who holds is who <id>.lock shows */
		i++
	:: else -> break
	od
#endif
}

#else /* TIMED */

/*
 * Time alone: host 1 holds and renews, host 2 watches and steals. Boot clocks run at one rate; each host uses differences
 * only. One tick is far longer than a step, but any step may come any number of ticks late. Removed rules:
 *   M_T0       t0 sampled after the record was written (claim.win, renewal.renew)
 *   M_LATE     a renewal that ends after the old deadline counts
 *   M_MARGIN   the deadline is t0 + lease: no renew interval of margin (Policy.window)
 *   M_SINCE    watcher.note samples before the read from when on the bytes are known
 *   M_BEFORE   watcher.look samples after the read the time by which it judges
 *   M_NOLATE   nobody looks after a write whether it was too late (Guard.Late, rule 10)
 * DELAY beyond RENEW + GRACE is not promised (package comment, "Not promised"); then, with -DREPORTED, L must hold.
 */
#define LEASE 3
#define RENEW 1
#define GRACE 1            /* max_clock_skew + steal_grace */
#define SILENCE (LEASE+GRACE)      /* Policy.silence */
#ifdef M_MARGIN
#define WINDOW LEASE
#else
#define WINDOW (LEASE-RENEW)       /* Policy.window */
#endif
#ifndef DELAY
#define DELAY (RENEW+GRACE)
#endif
#ifndef MAXT
#define MAXT 10
#endif
#ifndef RENEWALS
#define RENEWALS 3
#endif

byte now = 0, count = 0;   /* count: Record.RenewCount of claim 1, which makes its bytes differ */
bool claim1 = false, claim2 = false, open = false, inw = false;
byte deadline = 0, entered = 0;

active proctype Clock() {
	do
	:: atomic { now < MAXT && (!inw || now - entered < DELAY) -> now++ }
	:: now == MAXT -> break
	od
}

active proctype Holder() {
	byte t0 = 0;
	/* taking.claim: sample, write, link, arm */
	t0 = now;
	claim1 = true;
#ifdef M_T0
	t0 = now;
#endif
	d_step { deadline = t0 + WINDOW; open = (now < deadline) };
	do
	:: open && count < RENEWALS ->                                /* renewal.renew */
		if
		:: now >= deadline -> open = false                    /* renewOrClose: expired already */
		:: else ->
			t0 = now;
			count++;                                      /* claim.rewrite */
#ifdef M_T0
			t0 = now;
#endif
			if
			:: claim2 -> open = false                     /* claim.successor */
			:: else ->
				d_step {
					if
#ifdef M_LATE
					:: true -> deadline = t0 + WINDOW
#else
					:: now < deadline -> deadline = t0 + WINDOW
					:: else -> open = false
#endif
					fi
				}
			fi
		fi
	:: open && now >= deadline -> open = false                    /* Keeper.expire */
	:: !open || now == MAXT -> break
	od
}

active proctype Writer() {
#ifdef REPORTED
	bool stale = false, late = false;
#endif
	do
	:: d_step { open && now < deadline -> inw = true; entered = now }; /* epoch.enter */
#ifdef REPORTED
		stale = claim2;                                       /* the backing call takes effect, any time later */
#ifdef M_NOLATE
		late = false;
#else
		late = (now >= deadline);                             /* Guard.Late: the deadline, then claim.successor */
		if :: !late -> late = claim2 :: else fi;
#endif
		d_step {
			assert(L && (!stale || late)); /* the caller of a late write gets EIO, never a yes */
			stale = false; late = false; inw = false; entered = 0
		}
#else
		d_step {
			assert(S && !claim2); /* a stale write does not land: it takes effect at most DELAY later */
			inw = false; entered = 0
		}
#endif
	:: now == MAXT && !inw -> break
	od
}

active proctype Watcher() {
	byte before = 0, since = 0, seen = 0, c = 0;
	bool known = false;
	claim1;
	do
	:: !claim2 ->
		before = now;                                         /* watcher.look: the clocks first */
		c = count;                                            /* Store.Head */
#ifdef M_BEFORE
		before = now;
#endif
		if
		:: known && c == seen ->                              /* watcher.judge */
			if
			:: before - since >= SILENCE -> claim2 = true /* claim.link, however late */
			:: else
			fi
		:: else ->                                            /* watcher.note */
			d_step {
				known = true; seen = c;
#ifdef M_SINCE
				since = before
#else
				since = now
#endif
			}
		fi;
		d_step { before = 0; c = 0 }
	:: claim2 || now == MAXT -> break
	od
}

#endif
