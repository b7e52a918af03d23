/*
 * An offer to another host (rule 14) as offer.go does it, with those renewals that come in between, for SPIN.
 * scripts/model.sh runs it. What protocol.pml proves of claims and renewals is not proven again: here the holder has token 1
 * from the start, it is daemon 1, and daemon 2 takes.
 *
 * Without -DTIMED: tier A, and no clock at all, as in protocol.pml. A deadline may come and a renewal may fail at any
 * moment, and then be mended; the record may be called over at any moment, offered or not. With -DTIMED (second half): no
 * flock at all (tiers B and C), time alone, and any step any number of ticks late; a killed holder's lease may be adopted.
 *
 * The letter in an assert is the property (each letter is true by itself):
 *   S  no write of an older token reaches the files once a newer token exists (TIMED: once a newer fence has opened)
 *   O  when the answer is that nobody took the lease, nothing has changed
 *   R  nobody is robbed: what is taken as offered is offered still
 *
 * A rule is removed with -DM_...; each is described where it bites. Options: MAXTOK tokens, CLIENTS of daemon 1 (up to 2),
 * OFFERS by each of them, INTERRUPTS failed renewals besides those of an offer itself.
 *
 * The first models found M_MENDLOOK, M_GIVEBACK, M_ADOPTWAIT and M_EXPIRED in the code of then.
 */
mtype = { S, O, R };

#ifndef TIMED

#ifndef MAXTOK
#define MAXTOK 3
#endif
#ifndef OFFERS
#define OFFERS 1
#endif
#ifndef CLIENTS
#define CLIENTS 1
#endif
#ifndef INTERRUPTS
#define INTERRUPTS 1
#endif

/* The lock directory. */
byte head = 1;             /* the highest claim */
bool released[MAXTOK+2];
bool offered = false;      /* the record of claim 1 offers the lease to the host of daemon 2 */

/* flock on <id>.gate and <id>.turn. */
bool sh[3];
byte ex = 0, turn = 0;

/* The daemons' memory. */
byte fence[3];             /* the token of the open epoch, 0 closed */
byte inflight[3];
byte hold = 0;             /* whose Hold stops the epoch of daemon 1, 0 nobody's */
bool op = false;           /* Keeper.op of daemon 1 */
bool cur = true;           /* Keeper.cur, of claim 1 */
bool offer = false, handing = false, lead = false;
byte interrupts = 0;

inline enter() { atomic { !op -> op = true } }
inline leave() { op = false }

inline unlock(h) {
	atomic { sh[h] = false; if :: ex == h -> ex = 0 :: else fi };
	atomic { if :: turn == h -> turn = 0 :: else fi }
}
inline shared(h) {
	atomic { if :: ex == 0 || ex == h -> sh[h] = true; ex = 0; ok = true :: else -> ok = false fi }
}

/* Fence.Close: refuse, drain. */
inline closeFence(h) {
	d_step { fence[h] = 0; if :: h == 1 -> hold = 0 :: else fi };
	inflight[h] == 0
}

/* Keeper.lose of claim 1, by expiry, for a successor, or given back (gives). */
inline lose(gives) {
	closeFence(1);
	cur = false;
	if :: gives -> released[1] = true :: else fi;
	unlock(1);
	d_step { offer = false; handing = false; lead = false }
}

/* Keeper.renewOrClose; ok: the renewal counts. */
inline renewOrClose() {
	ok = true;
	if :: fence[1] == 0 -> shared(1) :: else fi;                  /* ready */
	if
	:: ok -> offered = offer                                      /* claim.rewrite */
	:: ok -> offered = offer; ok = false                          /* ... whose failure says nothing of what was written */
	:: ok = false                                                 /* or nothing was */
	fi;
#ifdef M_NOLOOK            /* nobody looks for a successor */
	found = false;
#else
	found = (head > 1);                                           /* stillOurs */
#endif
	if
	:: found -> lose(false); ok = false
	:: !found && ok -> lose(false); ok = false                    /* the old deadline has passed: expire */
	:: !found && !ok ->                                           /* interrupt */
		d_step { offer = false; if :: fence[1] != 0 -> interrupts++ :: else fi };
		closeFence(1);
		unlock(1)
	:: !found && ok ->                                            /* extend: Fence.Open or Extend */
		d_step {
			if :: fence[1] == 0 -> hold = 0; handing = false :: else fi;
			fence[1] = 1
		}
	fi;
	found = false
}

/* Keeper.same, but for the deadline. */
#ifdef M_BROKEN            /* an epoch that was closed and opened anew counts as frozen */
#define SAME (cur && fence[1] == 1 && !lead)
#else
#define SAME (cur && fence[1] == 1 && !lead && interrupts == began)
#endif

inline putUp() {
	enter();
	if
	:: SAME ->
		d_step { offer = true; handing = true };
		renewOrClose();
		if :: ok -> unlock(1); out = true :: else fi
	:: skip                                                       /* it is not, or the deadline comes; LOCK_SH is held still */
	fi;
	leave()
}

/* Keeper.awaitTaker and lookForTaker: out becomes false. */
inline awaitTaker() {
	do
	:: out ->
		enter();
		if
		:: !(SAME) -> out = false                             /* takenBy */
#ifdef M_EXPIRED           /* a lease that has just run out has ended, though nobody has closed its epoch yet */
		:: SAME -> out = false
#else
		:: SAME -> lose(false); out = false                   /* the deadline: expire */
#endif
		:: SAME ->
			found = (head > 1);                           /* successorAnywhere */
			if
			:: found -> lose(false); out = false
			:: !found                                     /* ctx has not ended */
			:: !found -> withdraw()
			fi;
			found = false
		fi;
		leave()
	:: else -> break
	od
}

inline withdraw() {
#ifdef M_NOSH              /* the old epoch goes on without LOCK_SH */
	ok = true;
#else
	shared(1);
#endif
	if
	:: ok ->
#ifdef M_NOLOOK
		found = false;
#else
		found = (head > 1);
#endif
		if
		:: found -> unlock(1)
		:: else ->
			offer = false;
#ifndef M_NOWRITE          /* the offer stays in the record */
			renewOrClose();
#endif
			if
			:: ok ->
				handing = false;
				out = false;
				assert(O && fence[1] == 1 && head == 1 && !offered) /* the old epoch, whole */
			:: else -> out = false
			fi
		fi
	:: else                                                       /* somebody is just taking the lease */
	fi
}

/* Keeper.OfferTo, which two clients may call; the second one's Hold fails while the first one's lasts. */
proctype Client(byte me) {
	byte began = 0, n = 0;
	bool ok = false, found = false, out = false;
	do
	:: n < OFFERS && cur ->
		n++;
		atomic { (!op) -> ok = (cur && fence[1] == 1 && !lead); began = interrupts }; /* handable */
		if
		:: ok ->
			atomic { ok = (fence[1] == 1 && hold == 0); if :: ok -> hold = me :: else fi }; /* Guard.Hold */
			if
			:: ok ->
				if
#ifdef M_NOHOLD            /* the gate is let go with writes still in flight */
				:: skip
#else
				:: inflight[1] == 0 || hold != me -> ok = (hold == me)
#endif
				:: ok = false                         /* not in time */
				fi;
				if :: ok -> putUp() :: else fi;
				if :: out -> awaitTaker() :: else fi;
				/* the release function that Hold has returned */
#ifdef M_RESUME            /* what goes on is named by its token alone */
				atomic { if :: fence[1] == 1 -> hold = 0 :: else fi }
#else
				atomic { if :: hold == me -> hold = 0 :: else fi }
#endif
			:: else
			fi
		:: else
		fi;
		d_step { began = 0; ok = false; found = false; out = false }
	:: break
	od
}

/* What else daemon 1 does: it renews, loses, and lets another daemon lead. */
proctype Keeper() {
	bool ok = false, found = false;
	do
	:: cur ->
		enter();
		if
		:: cur && !lead && (fence[1] == 0 || interrupts < INTERRUPTS) -> renewOrClose()
		:: cur && !lead -> lose(true)                         /* released */
		:: cur -> lose(false)                                 /* expired; a follower's share ends: part */
		:: cur && !lead && head > 1 -> lose(false)            /* step: a successor is seen */
#ifdef M_FOLLOW            /* a lease becomes a follower's while it is offered */
		:: cur && !lead && fence[1] == 1 -> lead = true
#else
		:: cur && !lead && fence[1] == 1 && !offer && !handing -> lead = true /* Follow */
#endif
		:: cur && lead -> lead = false                        /* Resume */
		:: else
		fi;
		ok = false;
		leave()
	:: !cur -> break
	od
}

/* taking.look. */
#define NONE 0
#define FREE 1
#define OFFERED 2
#define OVER 3
inline look() {
	atomic {
		H = head;
		if
		:: released[H] -> verdict = FREE
		:: !released[H] && H == 1 && offered -> verdict = OFFERED
		:: !released[H] -> verdict = OVER
		:: !released[H] -> verdict = NONE
		fi
	}
}

/* Keeper.take of daemon 2. */
proctype Taker() {
	byte H = 0, t = 0, verdict = NONE;
	bool ok = false;
	do
	:: t == 0 && head < MAXTOK ->
		look();
		if
		:: verdict != NONE ->
			if
			:: atomic { turn == 0 -> turn = 2 };
#ifdef M_NOGATE            /* what is offered is taken without LOCK_EX */
				skip;
#else
				if :: atomic { (ex == 0 && !sh[1]) -> ex = 2 } :: verdict = NONE fi;
#endif
#ifndef M_ONELOOK          /* what was seen before the gate is good enough */
				if :: verdict != NONE -> look() :: else fi;
#endif
				if
				:: verdict != NONE ->
					atomic {                      /* claim.link */
						assert(R && (verdict != OFFERED || (offered || released[1]) && head == H)); /* nobody has taken the offer back */
						H++; head = H
					};
					atomic { if :: ex == 2 -> ex = 0 :: else fi };
					shared(2);                    /* downgrade */
					atomic { if :: turn == 2 -> turn = 0 :: else fi };
					if
					:: ok -> t = H; fence[2] = t
					:: ok = false; released[H] = true; unlock(2) /* giveBack */
					fi
				:: else -> unlock(2)
				fi
			:: skip
			fi
		:: else
		fi;
		d_step { H = 0; verdict = NONE; ok = false }
	:: t != 0 ->
		closeFence(2);
		if :: released[t] = true :: skip fi;
		unlock(2);
		t = 0
	:: t == 0 -> break
	od
}

proctype Writer(byte h) {
	byte t = 0;
	do
	:: atomic { (fence[h] != 0 && (h != 1 || hold == 0)) -> inflight[h]++; t = fence[h] };
		/* paused here for as long as you like */
		atomic {
			assert(S && head <= t); /* a stale write never lands on a newer holder's files */
			inflight[h]--; t = 0
		}
	od
}

init {
	atomic {
		sh[1] = true; fence[1] = 1;
		run Keeper();
		run Taker();
		run Writer(1);
		run Writer(2);
		run Client(1);
#if CLIENTS > 1
		run Client(2)
#endif
	}
}

#else /* TIMED */

/*
 * One holder, who offers and takes back; one taker; and whoever claims after it once its claim is marked released. The
 * taker's clock may run at half the pace of the holder's (hence 2*WITHIN). Nothing is promised of how long a step lasts, on
 * either side. That the deadline ends everything is left out: nothing may rest on it. ADOPT: the holder may be killed.
 * Removed rules:
 *   M_NOHOLD    the offer is written with writes still in flight
 *   M_NOWAIT    an offer that was taken back is not waited out; M_ONCE: for Policy.takeWithin alone
 *   M_SINCE     the wait counts from before the record was written (holding.withdrawn)
 *   M_NOLOOK    no look for a successor after the wait
 *   M_UNWRITTEN an offer whose write failed is none (holding.offerOut)
 *   M_MEND      a renewal that mends a failed one does not wait (offerStands in Keeper.renew)
 *   M_MENDLOOK  ... it looks for a successor, and only then whether the wait is over
 *   M_SLOW      a taker that was too slow holds (taking.tooLate)
 *   M_LOOKED    it counts from after it saw the offer (taking.looked)
 *   M_EARLY     it looks at the time before it links, not afterwards
 *   M_GIVEBACK  one that was too slow marks its claim released: another may hold before the holder has looked again
 *   M_ADOPT     what was offered is adopted (Keeper.inherit); M_ADOPTWAIT: what was taken back, before the wait is over
 */
#ifndef MAXT
#define MAXT 4
#endif
#ifndef OFFERS
#define OFFERS 2
#endif
#define WITHIN 1           /* Policy.takeWithin */
#if defined(M_NOWAIT)
#define WAIT 0
#elif defined(M_ONCE)
#define WAIT WITHIN
#else
#define WAIT (2*WITHIN)
#endif
#define LATE(t) (now - (t) >= 2*WITHIN)   /* ... on a clock that runs at half the pace */

byte now = 0;
bool offered = false;      /* the record offers the lease */
bool mark = false;        /* it was, and whoever did has not said that nobody can take it any more */
bool claim2 = false, given2 = false;
bool open = true, held = false, inw = false;
byte armed = 1;            /* the highest token under which a fence has opened */
bool killed = false, bequest = false;

active proctype Clock() {
	do
	:: now < MAXT -> now++
	od
}

active proctype Holder() {
	byte n = 0, withdrawn = 0;
	bool out = false, ok = false, found = false;
	{
holds:	do
	:: open && n < OFFERS ->                                      /* OfferTo: Hold, putUp */
		n++;
		held = true;
#ifndef M_NOHOLD
		!inw;
#endif
#ifndef M_UNWRITTEN
		out = true;
#endif
		if
		:: atomic { offered = true; mark = true }; ok = true
		:: atomic { offered = true; mark = true }; ok = false /* failed, and was written all the same */
		:: ok = false
		fi;
		out = out || ok;
		if
		:: ok && claim2 -> goto lost                          /* lookForTaker */
		:: ok && !claim2                                      /* withdraw */
		:: goto interrupt                                     /* this renewal has failed, or another */
		fi;
#ifdef M_SINCE
		withdrawn = now;
#endif
		offered = false;                                      /* renewOrClose, which writes the record without it */
#ifndef M_SINCE
		withdrawn = now;
#endif
		out = false;
		if
		:: now >= withdrawn + WAIT                            /* offerStands */
		:: goto interrupt
		fi;
#ifdef M_NOLOOK
		found = false;
#else
		found = claim2;
#endif
		if
		:: found -> goto lost
		:: else -> held = false                               /* Resume: nothing has changed */
		fi;
		d_step { withdrawn = 0; ok = false }
	:: open && claim2 -> goto lost                                /* step: a successor is seen */
	:: open && !held && mark -> mark = false                    /* the next renewal */
	:: open && n == OFFERS -> goto done
	od;
interrupt:
	atomic { open = false; held = false };
	!inw;
	do                                                            /* Keeper.renew, until it reopens */
	::	offered = false;
		if :: out -> withdrawn = now; out = false :: else fi;
#ifdef M_MENDLOOK
		found = claim2;
		ok = (now >= withdrawn + WAIT);
#else
		ok = (now >= withdrawn + WAIT);
		found = claim2;
#endif
#ifdef M_MEND
		ok = true;
#endif
		if
		:: found -> goto lost
		:: !found && ok -> atomic { open = true; withdrawn = 0; ok = false }; goto holds
		:: else
		fi;
		ok = false
	:: goto lost                                                  /* the deadline comes */
	od;
lost:
	open = false;
done:
	skip
	} unless { killed }
}

#ifdef ADOPT
active proctype Killer() {
	if
	:: atomic { killed = true; bequest = open; open = false; held = false } /* its journal says what was open */
	:: skip
	fi
}

/* Keeper.Adopt: LOCK_EX, which on the holder's own host proves that its fence has drained; inherit; goOn. */
active proctype Adopter() {
	bool ok = false;
	if
	:: killed && bequest && !inw ->
		ok = !claim2;                                         /* claim.unreleased */
#ifndef M_ADOPT
		ok = ok && !offered;
#ifndef M_ADOPTWAIT
		ok = ok && !mark;
#endif
#endif
		if
		:: ok -> open = true
		:: else
		fi
	:: skip
	fi
}
#endif

active proctype Writer() {
	do
	:: atomic { (open && !held) -> inw = true };
		/* paused here for as long as you like */
		atomic {
			assert(S && armed == 1); /* a stale write never lands where a newer holder may have written */
			inw = false
		}
	od
}

active proctype Taker() {
	byte looked = 0;
	bool ok = false;
	do
	:: !claim2 ->                                                 /* taking.look, the second one */
		looked = now;
		ok = offered;
#ifdef M_LOOKED
		looked = now;
#endif
#ifdef M_EARLY
		if :: ok && LATE(looked) -> ok = false :: else fi;
#endif
		if
		:: ok ->
			claim2 = true;                                /* claim.link */
#if !defined(M_SLOW) && !defined(M_EARLY)
			ok = !LATE(looked);                           /* tooLate */
#endif
			if
			:: ok -> armed = 2; looked = 0; break                     /* Fence.Open */
			:: ok -> given2 = true; break                 /* it cannot hold for another reason: giveBack */
			:: !ok ->
#ifdef M_GIVEBACK
				given2 = true;
#endif
				break                                 /* its claim runs out: nobody holds */
			fi
		:: else
		fi;
		looked = 0
	:: break
	od
}

active proctype Next() {
	if
	:: given2 -> armed = 3
	:: skip
	fi
}

#endif
