/*
 * One lock file and its tenures, as turn.go, judge.go, intend.go, taken.go, lock.go and memory.go keep them, for SPIN.
 * scripts/model.sh runs it.
 *
 * Two programs take the lock (open with O_EXCL, link, or a rename of a file of their own onto the name), renew it (a rename), give it up or
 * break it (unlink), and write what it guards, by a call or by a store through a mapping. They may be robbed, and go on as if they
 * were not. The first of them may end at any moment. Somebody works past the mount. The daemon is killed between any two steps and
 * comes again; what it has kept and the backing file system are all that is left. Drains are proven by gate/drain.pml: here closing is one
 * step, and waiting for what is in flight another. Files have numbers that only grow, which stand for inode and birth time.
 *
 * The letter in an assert is the property (each letter is true by itself):
 *   D  when a tenure begins, nothing is in flight under another, or under none
 *   H  a write takes effect only while its writer is the one who took the lock last (or, without: allow, while nobody has it)
 *   U  a lock of nobody knows whom lets nobody's guarded write in
 *   R  who was robbed neither writes nor removes the successor's lock until it takes the lock anew, and nobody removes another's lock
 *      before its time
 *   N  a renewal that was prepared before a takeover does not land: nobody replaces another's lock before its time
 *   C  after a crash nobody is believed to hold the lock but who took it
 *   B  who took the lock and was not robbed may write, after a crash, too
 *   K  a lock whose taker has ended is not refused to who would break it (break: {gone: true})
 *   G  in the end it is gone (on_gone: remove)
 *   E  (no assert: SPIN finds an end state that is none) nobody waits for ever
 * Options: RENAME (by which the lock is taken, too, and renewed), STORE (through mappings), AFTER (break: {after: ...}), UNKNOWN (break: {unknown: ...}), ALLOW (without: allow), UNSEEN takers that cannot be identified, ONGONE (on_gone:
 *   remove), FLOCK and RECORD (taken_by; otherwise create), PASTDOWN somebody makes the lock past the mount while no daemon serves.
 * Not modelled: what is made past the mount while a call about the very name is at work, or removed between its look and the call; the 20 ms
 * by which birth times are wrong.
 * Removed rules, each described where it bites: M_NOTURN, M_LOOKBEFORE, M_NOJUDGE, M_REPLACE, M_NOCHECK, M_NOINTEND, M_STALE, M_NOFILE, M_NODRAIN,
 * M_NOFREE, M_NOFREEUNSEEN, M_NOBODYS, M_NOROBBED, M_FORGETROBBED, M_BELIEVE, M_NOKEEP, M_NOWAIT, M_HANDLE, M_NOWATCH, M_LIVING, M_REMOVEANY, M_NONUMBER,
 * M_NAME, M_FLOCKKEPT, M_EARLYREAD, M_NONCE, M_EXPIRED.
 */
mtype = { B, C, D, G, H, K, N, R, U };

#ifndef TRIES
#define TRIES 3            /* calls of a program */
#endif
#ifndef PAST
#define PAST 1             /* acts past the mount */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifdef IMMORTAL
#define MORTAL false
#else
#define MORTAL true
#endif
#define FILES (2*TRIES+PAST+2)
#define EPOCHS (2*TRIES+CRASHES+2)
#define FOREIGN 3          /* made past the mount */
#define STRANGER 4         /* made through it, by somebody who could not be identified */
#define MADE 0             /* KeptTenure.File: one that is made */

/* The backing file system. */
#ifdef FLOCK
#define AT_FIRST 1
#else
#define AT_FIRST 0
#endif
byte file = AT_FIRST;      /* what lies at the name, 0: nothing */
byte made = AT_FIRST;
byte maker[FILES] = FOREIGN; /* who has put it there, or is about to */
#ifdef RECORD
byte token[FILES];         /* what the record says; its nonce is the maker */
bool expired[FILES];
#endif
#ifdef FLOCK
byte flocked[FILES];       /* whose open file description has the flock on the backing file */
#endif

bool alive[5] = true;

/* What Memory has: Kept. */
byte kheld = 0, khfile = 0, knext = 0, knfile = 0, ksince = 0;
bool krobbed[5];

/* The daemon, which is lost in a crash. */
bool up = true;
byte gen = 0;
bool turn = false;
byte held = 0, hfile = 0;  /* Lock.held */
byte next = 0, nfile = 0, since = 0;
bool robbed[5];            /* Lock.robbed and Guard.revoked */
bool pending = false;      /* Book.ended */
byte open = 0;             /* the guard's epoch, 0: none */
bool freeing = false;      /* Guard.opening */
byte num = 0;
byte who[EPOCHS];
byte inflight[EPOCHS];     /* 0: without a tenure */

/* What the properties speak of. */
byte last = 0;             /* who took the lock last, as its program was told; 0: it was given up, or broken */
bool has[3], lost[3];      /* it was told that it has the lock; it was robbed since */

#define REFUSED 0
#define PASSES 1
#define RENEWS 2
#define RELEASES 3
#define BREAKS 4

inline keep() {
#ifndef M_NOKEEP           /* only intentions are kept */
	kheld = held; khfile = hfile;
#endif
#ifndef M_FORGETROBBED     /* who was robbed is forgotten with the daemon */
	krobbed[1] = robbed[1]; krobbed[2] = robbed[2];
#endif
	knext = next; knfile = nfile; ksince = since
}

inline intends(h, f) {
	d_step { next = h; nfile = f; since = made + 1; keep(); kept = true }
}

inline forget() {
	d_step { next = 0; nfile = 0; since = 0; keep() }
}

inline waits() {
#ifndef M_NODRAIN          /* what is in flight under the tenure is not waited for */
	(epoch == 0 || inflight[epoch] == 0)
#else
	skip
#endif
}

/* Guard.Close. */
inline closes() {
	d_step { epoch = open; who[open] = 0; open = 0 };
	waits()
}

/* Lock.end. */
inline ends(superseded) {
	closes();
	d_step {
#ifndef M_NOROBBED         /* who was robbed is not noted */
		if :: superseded -> robbed[held] = true :: else fi;
#endif
		if :: last == held -> last = 0 :: else fi;
		held = 0; hfile = 0; keep()
	}
}

/* The first part of Guard.Open. */
inline drainsFree() {
#ifdef ALLOW
	freeing = true;
	inflight[0] == 0;
	freeing = false
#else
	skip
#endif
}

/* Lock.begin. */
inline begins(h, f) {
	d_step { held = h; hfile = f; next = 0; nfile = 0; since = 0; robbed[h] = false; epoch = open; who[open] = 0; open = 0 };
	waits();
#ifndef M_NOFREE           /* writes without a tenure are not waited for */
	drainsFree();
#endif
	d_step {
		num++;
		for (epoch : 0 .. num) { assert(D && inflight[epoch] == 0) }
		epoch = 0;
		open = num; who[num] = h;
#ifndef M_NOWATCH          /* who has ended before it is watched is not looked after */
		if :: !alive[h] -> pending = true :: else fi
#endif
	}
}

/* checkFile: the lock file was removed or replaced past the mount. */
inline checks() {
#ifndef FLOCK
	if
	:: held != 0 && hfile != file ->
		ends(false)
	:: else
	fi
#else
	skip
#endif
}

inline takesTurn() {
#ifdef M_LOOKBEFORE        /* what was seen before the wait for the turn decides */
	there = (file != 0);
	atomic { !turn -> turn = true }
#else
	atomic {
#ifndef M_NOTURN           /* two are judged at once */
		!turn -> turn = true;
#endif
		there = (file != 0)
	}
#endif
}

/* lockfile.Judge and JudgeRecord, with the facts as they are now. gone and aged say what the rule allows. */
inline judges(takes) {
	atomic {
		was = file;
#ifdef AFTER
		if :: aged = true :: aged = false fi;
#endif
		if
		:: held != 0 ->
			if
			:: held == me && alive[me] && !takes -> out = RENEWS
			:: held == me && alive[me] && takes -> out = RELEASES
			:: !alive[held] -> out = BREAKS
			:: alive[held] && held != me && robbed[me] -> out = REFUSED
			:: alive[held] && held != me && !robbed[me] && aged -> out = BREAKS
			:: alive[held] && held != me && !robbed[me] && !aged -> out = REFUSED
			fi
		:: held == 0 && file == 0 -> out = (takes && robbed[me] -> REFUSED : PASSES)
		:: held == 0 && file != 0 ->
#ifdef UNKNOWN
			if :: aged = true :: aged = false fi;
#endif
			out = (!robbed[me] && aged -> BREAKS : REFUSED)
		fi;
#ifdef M_NOJUDGE           /* nobody is refused a removal */
		if :: out == REFUSED && takes -> out = BREAKS :: else fi;
#endif
#ifdef M_REPLACE           /* nor to put another file in its place */
		if :: out == REFUSED && !takes -> out = BREAKS :: else fi;
#endif
		assert(K && !(out == REFUSED && file != 0 && maker[file] <= 2 && !alive[maker[file]]))
	}
}

#ifdef RECORD
#ifdef M_NONCE             /* whose renewal it is is not asked */
#define RENEWAL(now, then) true
#else
#define RENEWAL(now, then) (maker[then] == maker[now] && token[then] == token[now])
#endif
#ifdef M_EXPIRED           /* a record is taken over before it has expired */
#define TAKEOVER(now, then) (maker[then] != maker[now] && token[then] == token[now] + 1)
#else
#define TAKEOVER(now, then) (maker[then] != maker[now] && expired[now] && token[then] == token[now] + 1)
#endif

inline judgesRecord(now) {
	atomic {
		was = file;
		if
		:: RENEWAL(now, tmp) -> out = RENEWS
		:: !RENEWAL(now, tmp) && TAKEOVER(now, tmp) -> out = BREAKS
		:: else -> out = REFUSED
		fi
	}
}
#endif

/* Whoever changes the name of this lock file may do so: it is its own, its taker has ended, or it is old and was judged so. */
#define MAY(f) (maker[f] == me || !alive[maker[f]] || (aged && was == (f) && !lost[me]))

/* Turn.End of a call that has put a file at the name: Lock.taken. */
inline taken() {
	if
	:: file == 0 || !seen ->
#ifndef M_NOBODYS          /* the former tenure stays open beside a lock of nobody knows whom */
		checks();
#endif
#ifndef M_STALE            /* the intention stays */
		forget();
#endif
#ifndef M_NOFREEUNSEEN     /* nor when the taker cannot be identified */
		drainsFree();
#endif
		atomic { if :: file != 0 -> last = STRANGER :: else -> last = 0 fi }
	:: else ->
		begins(me, file);
		d_step { keep(); last = me; has[me] = true; lost[me] = false }
	fi
}

#ifdef RECORD
#define RIGHTFUL (maker[tmp] == maker[file] && token[tmp] == token[file] || maker[tmp] != maker[file] && expired[file] && token[tmp] == token[file] + 1)
#else
#define RIGHTFUL MAY(file)
#endif

/* The call has returned, and its program knows. */
inline broken(h) {
	atomic {
		if :: h != 0 && h <= 2 && h != me -> lost[h] = true; has[h] = false :: else fi
	}
}

inline notStranger() {
	if :: last == STRANGER -> last = 0 :: else fi
}

/* open with O_CREAT and O_EXCL. */
inline create() {
	takesTurn();
#ifdef UNSEEN
	if :: seen = true :: seen = false fi;
#endif
#ifndef M_NOINTEND         /* who is about to take the lock is not kept */
	if
	:: !there && seen -> intends(me, MADE)
	:: else
	fi;
#endif
	atomic {
		ok = (file == 0 && !there);
		if
		:: ok -> made++; file = made; maker[made] = (seen -> me : STRANGER)
		:: else
		fi
	};
	if
	:: ok -> taken()
	:: !ok && kept -> forget()
	:: else
	fi;
	turn = false
}

/* rename of a file that was made before: a link, if nothing lies at the name; a renewal or a takeover otherwise. */
inline rename() {
#ifdef M_EARLYREAD         /* the records are read before the turn has come */
	early = file;
#endif
	takesTurn();
	out = PASSES;
	if
	:: there ->
#ifndef M_NOCHECK
		checks();
#endif
#ifdef RECORD
#ifdef M_EARLYREAD
		if :: early != 0 && file != 0 -> judgesRecord(early) :: else -> out = REFUSED fi
#else
		if :: file != 0 -> judgesRecord(file) :: else -> out = REFUSED fi
#endif
#else
		judges(false)
#endif
	:: else
	fi;
	if
	:: out != REFUSED ->
#ifdef UNSEEN
		if :: seen = true :: out != RENEWS -> seen = false fi;
#endif
		victim = held;
#ifndef M_NOINTEND
		if
		:: out == RENEWS && held != 0 -> intends(held, tmp)
		:: !(out == RENEWS && held != 0) && seen -> intends(me, tmp)
		:: else
		fi;
#endif
		atomic {
			ok = (there || file == 0);
			if
			:: ok && file != 0 -> assert(N && RIGHTFUL); maker[file] = FOREIGN; notStranger()
			:: else
			fi;
			if
			:: ok -> maker[tmp] = (seen -> me : STRANGER); file = tmp; tmp = 0
			:: else
			fi
		};
		if
		:: ok && out == RENEWS && held != 0 && alive[held] ->
			d_step { if :: file != 0 -> hfile = file :: else fi; next = 0; nfile = 0; since = 0; keep() }
		:: ok && !(out == RENEWS && held != 0 && alive[held]) ->
			if
			:: out == BREAKS && held != 0 -> ends(true); broken(victim)
			:: else
			fi;
			taken()
		:: !ok && kept -> forget()
		:: else
		fi
	:: else
	fi;
	turn = false
}

/* unlink: a release, or a break. */
inline unlink() {
	takesTurn();
	out = PASSES;
	if
	:: there ->
#ifndef M_NOCHECK          /* that the lock was replaced past the mount is not looked for */
		checks();
#endif
		judges(true)
	:: else
	fi;
	if
	:: out != REFUSED ->
		victim = held;
		atomic {
			ok = (file != 0);
			if :: ok -> assert(R && MAY(file)); maker[file] = FOREIGN; file = 0; notStranger() :: else fi
		};
		if
		:: ok && there && out == RELEASES && held != 0 -> ends(false); has[me] = false
		:: ok && there && out == BREAKS && held != 0 -> ends(true); broken(victim)
			:: else
		fi
	:: else
	fi;
	turn = false
}

#ifdef FLOCK
#define TAKEN (flocked[file] == me)
#else
#define TAKEN (file != 0 && maker[file] == me)
#endif

inline lands() {
	atomic {
		assert(U && !(last == STRANGER));
		assert(H && last == (under == 0 -> 0 : me));
		if :: inflight[under] > 0 -> inflight[under]-- :: else fi;
#ifdef STORE
		mapped = under;
#endif
		under = 0
	}
}

/* Guard.Enter for a writer, and what it does. */
inline write() {
	atomic {
		if
		:: open != 0 && who[open] == me -> under = open; inflight[under]++; ok = true
#ifdef ALLOW
#ifdef M_BELIEVE           /* a lock of nobody knows whom is taken for none */
		:: open == 0 && held == 0 && !freeing && !robbed[me] -> under = 0; inflight[0]++; ok = true
#else
		:: open == 0 && held == 0 && file == 0 && !freeing && !robbed[me] -> under = 0; inflight[0]++; ok = true
#endif
#endif
		:: else -> ok = false; pending = true; assert(B && !(up && alive[me] && has[me] && TAKEN))
		fi;
		assert(R && !(ok && lost[me]));
		assert(U && !(ok && under == 0 && file != 0 && maker[file] > 2))
	};
	if
	:: ok -> lands()
	:: else
	fi
}

/* A store through a mapping of what was opened under a tenure. */
inline store() {
	atomic {
#ifdef M_HANDLE            /* a handle may write under any tenure */
		if :: open != 0 -> under = open; inflight[under]++; ok = true :: else -> ok = false fi
#else
		if :: open == mapped -> under = open; inflight[under]++; ok = true :: else -> ok = false fi
#endif
	};
	if
	:: ok -> lands()
	:: else
	fi
}

inline prepare() {
	atomic {
		made++; tmp = made; maker[made] = me
#ifdef RECORD
		;
		if
		:: file != 0 && maker[file] == me -> token[made] = token[file]
		:: file != 0 && maker[file] != me -> token[made] = token[file] + 1
		:: file == 0 -> token[made] = 1
		fi
#endif
	}
}

#ifdef FLOCK
/* SETLKW: the flock of the backing file, then Lock.Locked. tmp is the file that is locked. */
inline flock() {
	atomic { was = file; flocked[was] == 0 -> flocked[was] = me; tmp = was };
	if
	:: was == file ->                                             /* otherwise it has lost its name, and locks nothing */
		takesTurn();
		if
#ifdef M_NAME              /* nor before that is noted */
		:: true ->
#else
		:: was == file ->
#endif
			begins(me, was);
			d_step {
#ifdef M_FLOCKKEPT         /* a flock is believed to be held after a crash */
				keep();
#endif
				last = me; has[me] = true; mynum = num
			}
		:: else
		fi;
		turn = false
	:: else
	fi
}

/* beforeFlock: Lock.Unlocked, then the flock goes. */
inline unflock() {
	takesTurn();
	if
#ifdef M_NONUMBER          /* who unlocks ends the tenure, whosever it is */
	:: held != 0 ->
#else
	:: held != 0 && num == mynum ->
#endif
		ends(false)
	:: else
	fi;
	turn = false;
	atomic { flocked[tmp] = 0; has[me] = false; tmp = 0 }
}
#endif

/* What a program has open is dead. */
inline cutOff() {
	mapped = 0;
#ifdef FLOCK
	tmp = 0
#endif
}

active [2] proctype Program() {
	byte me = _pid + 1, n = 0, mine = 0, tmp = 0, mapped = 0, mynum = 0; /* of the program */
	byte epoch = 0, under = 0, out = 0, was = 0, victim = 0, early = 0; /* of a call */
	bool ok = false, there = false, seen = true, kept = false, aged = false, writing = false;
	do
	:: atomic { up && alive[me] && n < TRIES -> n++; mine = gen };
		{
			if
#ifdef FLOCK
			:: tmp == 0 && file != 0 -> flock()
			:: tmp != 0 -> unflock()
#else
#ifndef RECORD
			:: create()
#endif
#ifdef RECORD
			:: tmp == 0 && n < TRIES -> prepare()
			:: tmp != 0 -> rename()
#else
			:: unlink()
#ifdef RENAME
			:: prepare(); rename()
#endif
#endif
#endif
			:: writing = true; write()
#ifdef STORE
			:: mapped != 0 -> writing = true; store()
#endif
			fi
		} unless {
#ifdef M_NOWAIT            /* the next daemon begins while a call of the former one is at work */
			gen != mine && !writing -> cutOff()
#else
			gen != mine -> cutOff()
#endif
		};
		d_step { epoch = 0; under = 0; out = 0; was = 0; victim = 0; early = 0; mine = 0; ok = false; there = false; seen = true; kept = false; aged = false; writing = false }
	:: !alive[me] || n == TRIES -> break
	od;
#ifdef FLOCK
	if
	:: atomic { up && tmp != 0 -> mine = gen }; { unflock() } unless { gen != mine } /* exit closes what is open */
	:: tmp == 0
	fi
#endif
}

/* Book.Run and lookAfter: those are looked after whose end was told, or that somebody has asked about. */
active proctype Keeper() {
	byte epoch = 0, mine = 0, me = 0;
	bool there = false;
end:	do
	:: atomic { up && pending -> pending = false; mine = gen };
		{
			takesTurn();
			if
#ifdef M_LIVING            /* that it has ended is not asked */
			:: held != 0 ->
#else
			:: held != 0 && !alive[held] ->
#endif
				me = held;
				closes();
#ifdef ONGONE
				atomic {
#ifdef M_REMOVEANY         /* whatever lies at the name is removed */
					if :: file != 0 -> assert(R && !alive[maker[file]]); file = 0 :: else fi
#else
					if :: file != 0 && file == hfile -> assert(R && !alive[maker[file]]); file = 0 :: else fi
#endif
				};
				d_step { held = 0; hfile = 0; keep(); if :: last == me -> last = 0 :: else fi }
#endif
			:: else
			fi;
			turn = false
		} unless { gen != mine };
		d_step { epoch = 0; me = 0; there = false }
	od
}

active proctype Death() {
end:	d_step { alive[1] && MORTAL -> alive[1] = false; if :: open != 0 && who[open] == 1 -> pending = true :: else fi }
}

#ifdef RECORD
active proctype Time() {
end:	do
	:: atomic { file != 0 && !expired[file] -> expired[file] = true }
	od
}
#endif

active proctype Past() {
	byte n = 0;
end:	do
#ifndef FLOCK               /* its file is made when it is opened */
	:: atomic { n < PAST && file != 0 -> n++; file = 0; notStranger() }
#endif
#ifdef PASTDOWN
	:: atomic { n < PAST && !turn -> n++; made++; file = made; maker[made] = FOREIGN }
#else
	:: atomic { n < PAST && !turn && up -> n++; made++; file = made; maker[made] = FOREIGN }
#endif
	od
}

/* Kept.of. */
#ifdef M_NOFILE            /* which file it was is not asked */
#define HELD (kheld != 0)
#else
#define HELD (kheld != 0 && khfile == file)
#endif
#define NEXT (knext != 0 && (knfile == MADE && file >= ksince || knfile == file))

active proctype Daemon() {
	byte n = 0, h = 0, epoch = 0;
end:	do
	:: atomic { n < CRASHES -> n++; gen++; up = false;
			turn = false; held = 0; hfile = 0; next = 0; nfile = 0; since = 0; pending = false; open = 0; freeing = false;
			robbed[1] = false; robbed[2] = false;
			for (epoch : 0 .. num) { inflight[epoch] = 0 }
			epoch = 0 };
		atomic {                                              /* Book.recall */
			h = 0;
#ifdef FLOCK
			for (epoch : 1 .. made) { flocked[epoch] = 0 }        /* its descriptors are closed */
			epoch = 0; has[1] = false; has[2] = false; last = 0;
#ifdef M_FLOCKKEPT
			h = kheld;
#endif
			assert(C && h == 0);
#else
			if
			:: file != 0 && HELD -> h = kheld
			:: file != 0 && !HELD && NEXT -> h = knext
			:: else
			fi;
			assert(C && (h == 0 || h == maker[file]));
			if
			:: file != 0 && maker[file] <= 2 -> last = maker[file]
			:: file != 0 && maker[file] > 2 -> last = STRANGER
			:: else -> last = 0
			fi;
#endif
			robbed[1] = krobbed[1]; robbed[2] = krobbed[2];
			if :: h != 0 -> begins(h, file); if :: h <= 2 -> lost[h] = false :: else fi :: else fi;
			keep();
			h = 0; up = true
		}
	od
}

#ifdef ONGONE
active proctype End() {
	timeout -> assert(G && !(file != 0 && maker[file] <= 2 && !alive[maker[file]]))
}
#endif
