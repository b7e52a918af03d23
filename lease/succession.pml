/*
 * One lease, and daemons that come after one another under the same token, as adopt.go, follow.go and replace.go (cmd/jvsfs)
 * do it, for SPIN; tier A. scripts/model.sh runs it. Daemon 1 holds token 1 from the start. Daemon 2 may replace it: the one
 * follows, the other joins, takes the place of its mount, and leads. Daemon 3 may adopt what a killed one has left behind.
 * Daemon 4 is any taker.
 *
 * Who takes may call the record over at any moment, offered to it or not, as in protocol.pml: S rests on the gate alone.
 * Deadlines are counted by renewals: that of renewal n passes at some time after it was written, and those before it have
 * passed then. A killed process may have mutations in flight for as long as you like; its locks go when they are done, with
 * its last thread.
 *
 * The letter in an assert is the property (each letter is true by itself):
 *   S  no write of an older token reaches the files once a newer token exists
 *   D  nobody is let in once the last deadline has passed that a renewal on record gives
 *   A  nobody starts to write under a token when a higher one exists, or when it was given back
 *   K  nobody gives the lease back while another leads it
 *   P  an adopted epoch opens when nothing of the dead daemon's is in flight
 *
 * A rule is removed with -DM_...; each is described where it bites. Options: MAXTOK tokens, RENEWALS, CRASHES, and which of
 * them come at all: REPLACE daemon 2, ADOPT daemon 3, CLI `jvsfs lock release` in a process without a keeper, once
 * (Store.ReleaseLeft).
 */
mtype = { S, D, A, K, P };

#ifndef MAXTOK
#define MAXTOK 2
#endif
#ifndef RENEWALS
#define RENEWALS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

/* The lock directory. */
byte head = 1;             /* the highest claim */
bool released = false;     /* the mark of claim 1 */
byte renewals = 1;         /* of claim 1, on record */
byte passed = 0;           /* the deadline of this renewal, and those before it, have passed */

/* flock on <id>.gate, by open file description, and <id>.turn. */
#ifdef M_SHAREDFD          /* the old daemon passes its descriptor on */
#define FD(h) (h == 2 -> 1 : h)
#else
#define FD(h) h
#endif
bool sh[5];
byte ex = 0, turn = 0;
#define EX_FREE(f) ((ex == 0 || ex == f) && (f == 1 || !sh[1]) && (f == 2 || !sh[2]) && (f == 3 || !sh[3]) && (f == 4 || !sh[4]))

/* The daemons' memory. */
byte cur[5];               /* Keeper.cur: the token */
bool lead[5];              /* Keeper.lead: another keeper leads */
byte fence[5];             /* the token of the open epoch, 0 closed */
byte deadline[5];          /* that of this renewal */
byte inflight[5];
bool killed[4], gone[4];   /* it has been, and its last thread has ended */

/* Their journals: which outlive them. */
bool noted[4];
byte notedline[4];

/* The replacement. */
byte old = 0;              /* daemon 1: 1 retired (first step), 2 told that daemon 2 is in its place */
byte new = 0;              /* daemon 2: 1 joined, 2 in the place of daemon 1, 3 leads, 9 given up */
byte locked = 0;           /* lockRecoveries, by whom: one replacement or recovery at a time */
byte bequest = 0;          /* the deadline that the answer to the first step names */

inline unlock() {
	atomic { sh[FD(h)] = false; if :: ex == FD(h) -> ex = 0 :: else fi };
	atomic { if :: turn == h -> turn = 0 :: else fi }
}
inline shared() {
	atomic { if :: ex == 0 || ex == FD(h) -> sh[FD(h)] = true; ex = 0; ok = true :: else -> ok = false fi }
}
/* gateLock.exclusive; given up at any moment. */
inline exclusive() {
	if
	:: atomic { turn == 0 -> turn = h };
		if
		:: atomic { EX_FREE(FD(h)) -> ex = FD(h); ok = true }
		:: ok = false; unlock()
		fi
	:: ok = false
	fi
}
inline downgrade() {
	atomic { if :: ex == FD(h) -> ex = 0 :: else fi };
	shared();
	atomic { if :: turn == h -> turn = 0 :: else fi }
}

/* Fence.Open and Fence.Close, and what the journal notes afterwards. Daemon 1 notes nothing any more once it has retired. */
inline open(d) {
	atomic {
		assert(A && head == 1 && !released); /* what is opened is held */
		deadline[h] = d; fence[h] = 1
	};
	note(true, d)
}
inline note(what, d) { atomic { if :: h == 1 && old != 0 :: else -> noted[h] = what; notedline[h] = d fi } }
inline closeFence() {
	fence[h] = 0;
	inflight[h] == 0;
	note(false, 0)
}

/* Keeper.lose of what this keeper leads. */
inline lose(gives) {
	closeFence();
	if
	:: gives && cur[h] == 1 -> mark()
	:: else
	fi;
	cur[h] = 0;
	unlock()
}
inline mark() {
	atomic {
		if
		:: head == 1 -> released = true;
			assert(K && (h == 1 || cur[1] == 0 || lead[1]) && (h == 2 || cur[2] == 0 || lead[2])) /* the leader's to give */
		:: else
		fi
	}
}

/* Keeper.part, of what another leads. */
inline part() {
#ifdef M_PARTNODRAIN       /* a follower lets its LOCK_SH go with writes still in flight */
	fence[h] = 0;
#else
	closeFence();
#endif
#ifdef M_FOLLOWRELEASE     /* it gives back what it had a share of */
	if :: old == 2 -> mark() :: else fi;
#endif
	d_step { cur[h] = 0; lead[h] = false };
	unlock()
}

/* Keeper.renewOrClose; past: the old deadline has passed when it ends. */
inline renewOrClose() {
	ok = true;
	if :: fence[h] == 0 -> shared() :: else fi;                   /* ready */
	if :: ok && released -> ok = false :: else fi;                /* claim.check */
#ifdef M_NOTEEARLY         /* the journal is told of a renewal before it counts */
	note(true, renewals + 1);
#endif
	if :: ok -> d_step { renewals++; d = renewals } :: ok = false fi; /* claim.rewrite */
	found = (head > 1);                                           /* stillOurs */
	past = (passed >= deadline[h]);
	if
	:: found || past -> lose(false)
	:: !found && !past && !ok ->                                  /* interrupt */
		closeFence();
		unlock()
	:: !found && !past && ok && fence[h] != 0 -> deadline[h] = d; note(true, d) /* extend */
	:: !found && !past && ok && fence[h] == 0 -> open(d)
	fi;
	d_step { found = false; past = false; d = 0; ok = false }
}

/* Keeper.inherit and goOn, or Join. */
inline inherit() {
#ifndef M_NOHEAD           /* nobody looks whether the claim is still the head and unreleased */
	if :: head > 1 || released -> ok = false :: else fi;
#endif
	if :: passed >= d -> ok = false :: else fi                    /* stillCounts */
}

/* A keeper's own steps. */
inline step() {
	if
	:: cur[h] == 1 && !lead[h] && renewals < RENEWALS -> renewOrClose()
	:: cur[h] != 0 && !lead[h] -> lose(true)                      /* released */
	:: cur[h] != 0 && !lead[h] -> lose(false)                     /* expired, or its deadline is near */
	:: cur[h] != 0 && lead[h] -> stepFollow()
	:: else
	fi
}

/* Keeper.stepFollow, with Stay until the second step, and then leadOf. */
inline stepFollow() {
	ok = true;
	if
#ifdef M_STAYEXTEND        /* a follower that hears nothing gives itself more time */
	:: h == 1 && old == 1 && renewals < RENEWALS -> deadline[h] = renewals + 1
#endif
	:: h == 1 && old == 2 ->
		atomic { d = notedline[2]; ok = noted[2] };
		if :: killed[2] -> ok = false :: else fi;
		if :: ok && d > deadline[h] -> deadline[h] = d :: else fi
	:: else
	fi;
	found = (head > 1);
	past = (passed >= deadline[h]);
	if
	:: found || past || !ok -> part()
	:: else
	fi;
	d_step { found = false; past = false; ok = false; d = 0 }
}

proctype Old() {
	byte h = 1, d = 0;
	bool ok = false, found = false, past = false;
	{
	do
	:: cur[1] != 0 -> step()
#ifdef REPLACE
	:: atomic { old == 0 && new == 0 && fence[1] == 1 && locked == 0 ->
			locked = 2; old = 1; lead[1] = true; bequest = deadline[1] } /* retire: Follow, and the answer */
	:: old == 1 && gone[2] && new < 2 ->                          /* outlives, stay: Resume */
		atomic { lead[1] = false; old = 0; new = 9 };
		if :: fence[1] == 1 -> note(true, deadline[1]) :: else fi
	:: old == 1 && gone[2] && new >= 2 -> old = 2                 /* ... it is detached */
	:: old == 2 ->                                                /* what was open through it is closed: it ends */
		if :: cur[1] != 0 -> part() :: else fi;
		killed[1] = true
#endif
	od
	} unless { killed[1] }
}

#ifdef REPLACE
#ifdef M_PREDECESSOR       /* the lease is handed over while the old daemon may still write under it */
#define ALONE true
#else
#define ALONE gone[1]
#endif
proctype New() {
	byte h = 2, d = 0;
	bool ok = false, found = false, past = false;
	{
	old == 1;
	d = bequest;
#ifdef M_JOINNOSH          /* the lease is joined without a LOCK_SH of its own */
	ok = true;
	inherit();
#else
#ifdef M_JOINLOOK          /* nobody looks under the lock */
	ok = true;
	inherit();
	if :: ok -> shared() :: else fi;
#else
	shared();
	if :: ok -> inherit() :: else fi;
#endif
#endif
	if :: ok :: ok = false fi;
	if
	:: ok ->
		d_step { lead[2] = true; cur[2] = 1 };
		open(d);
		d_step { d = 0; ok = false };
		new = 1;
		do
		:: new == 1 -> new = 2                                /* AttachBeneath, takeAway: the mount of daemon 1 is detached */
		:: new == 1 -> break                                  /* it does not come up */
		:: new == 2 -> atomic { lead[2] = false; new = 3 }    /* Resume */
		:: new == 3 && (old == 1 || killed[1]) && locked == 2 ->
			if :: old == 1 -> old = 2 :: else fi;         /* the second step */
			locked = 0
		:: cur[2] != 0 -> step()
		:: new == 3 && cur[2] == 1 && fence[2] == 1 && head == 1 && ALONE -> /* Handover: rule 13 */
			fence[2] = 0;                                 /* frozen  */
			inflight[2] == 0;
			atomic { head == 1 -> head = 2; cur[2] = 2 };
			atomic { deadline[2] = 99; fence[2] = 2 };
			note(false, 0)
		od
	:: else
	fi;
	atomic { killed[2] = true; fence[2] = 0; cur[2] = 0 }         /* it ends */
	} unless { killed[2] }
}
#endif

#ifdef ADOPT
proctype Heir() {
	byte h = 3, d = 0, from = 0;
	bool ok = false, found = false, past = false;
	/* The mount is dead: that of daemon 2, or that of daemon 1 if daemon 2 is not in its place. */
	if
	:: atomic { (killed[1] && (new < 2 || new == 9) && locked == 0) -> locked = 3 }; from = 1
	:: atomic { (killed[2] && new >= 2 && new != 9 && locked == 0) -> locked = 3 }; from = 2
	fi;
	atomic { ok = noted[from]; d = notedline[from] };
	if
	:: ok ->
#ifdef M_ADOPTSH           /* LOCK_SH is enough */
		shared();
#else
#ifdef M_ADOPTNOTURN       /* without the turn LOCK_EX cannot become LOCK_SH unnoticed */
		if :: atomic { EX_FREE(3) -> ex = 3; ok = true } :: ok = false fi;
#else
		exclusive();
#endif
#endif
		if
		:: ok ->
			inherit();
			if :: ok -> downgrade() :: else fi;
			if
			:: ok ->
				assert(P && inflight[from] == 0); /* the dead fence has drained */
				cur[3] = 1;
#ifdef M_ADOPTEXTEND       /* the time starts anew, though nothing was written */
				d = renewals + 1;
#endif
				open(d);
				d_step { d = 0; ok = false }
			:: else -> unlock()
			fi
		:: else
		fi
	:: else
	fi;
	do
	:: cur[3] != 0 -> step()
	:: cur[3] == 0 -> break
	od
}
#endif

/* Keeper.take of anybody, by any verdict. */
proctype Taker() {
	byte h = 4, t = 0;
	bool ok = false;
	do
	:: t == 0 && head < MAXTOK ->
		exclusive();
		if
		:: ok && head < MAXTOK ->
			atomic { head++; t = head };                  /* claim.link */
			downgrade();
			if
			:: ok -> atomic { deadline[4] = 99; fence[4] = t }
			:: else -> unlock(); t = 0
			fi
		:: ok && head >= MAXTOK -> unlock()
		:: else
		fi;
		ok = false
	:: t != 0 ->
		fence[4] = 0;
		inflight[4] == 0;
		unlock();
		t = 0
	:: break
	od
}

proctype Writer(byte h) {
	byte t = 0;
	do
	:: atomic { (fence[h] != 0 && passed < deadline[h]) ->        /* epoch.enter */
			assert(D && (fence[h] != 1 || passed < renewals)); /* not past what the record gives */
			inflight[h]++; t = fence[h] };
		/* paused here for as long as you like, dying or not */
		atomic {
			assert(S && head <= t); /* a stale write never lands on a newer holder's files */
			inflight[h]--; t = 0
		}
	od
}

proctype Time() {
	do
	:: atomic { passed < renewals -> passed++ }
	od
}

/* SIGKILL: nothing more enters; what is in flight ends in its own time, and then the kernel drops the locks. */
proctype Killer() {
	byte n = 0;
	do
	:: n < CRASHES -> n++;
		if
		:: atomic { !killed[1] -> killed[1] = true; fence[1] = 0; cur[1] = 0 }
		:: atomic { (old != 0 && !killed[2]) -> killed[2] = true; fence[2] = 0; cur[2] = 0 }
		fi
	:: break
	od
}
proctype Reaper(byte h) {
	atomic { (killed[h] && inflight[h] == 0) -> fence[h] = 0; cur[h] = 0; sh[FD(h)] = false };
	atomic { if :: ex == FD(h) -> ex = 0 :: else fi; if :: turn == h -> turn = 0 :: else fi };
	atomic { gone[h] = true; if :: locked == h -> locked = 0 :: else fi }
}

#ifdef CLI
proctype Cli() {           /* Store.ReleaseLeft */
	byte h = 0;
	atomic { (ex == 0 && !sh[1] && !sh[2] && !sh[3] && !sh[4] && turn == 0 && head == 1) -> released = true }
}
#endif

init {
	atomic {
		sh[1] = true; cur[1] = 1; fence[1] = 1; deadline[1] = 1; noted[1] = true; notedline[1] = 1;
		run Old(); run Writer(1); run Reaper(1);
#ifdef REPLACE
		run New(); run Writer(2); run Reaper(2);
#endif
#ifdef ADOPT
		run Heir(); run Writer(3);
#endif
#ifdef CLI
		run Cli();
#endif
		run Taker(); run Writer(4); run Time(); run Killer()
	}
}
