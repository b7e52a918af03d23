/*
 * The lease of one worktree in etcd as the Go code of this package keeps it, for SPIN. scripts/model.sh runs it.
 *
 * Time is in ticks: a third of a TTL. Clocks run at the same rate (boot clocks), and show what they like otherwise. Every step of a
 * daemon may be any number of ticks late, and so may every request and answer between its steps; a request may be lost, or arrive
 * when the daemon has given it up; an answer may be lost. etcd removes what has run out when it likes, but not before. A daemon may be
 * killed between any two steps. There is no gate: nothing but etcd stands between the daemons. The one bound is DELAY, in ticks, from
 * the look at the deadline to the effect of a write.
 *
 * The letter in an assert is the property (each letter is true by itself):
 *   U  no token is granted twice, and the head never goes back
 *   S  no write of an older token reaches the files once a newer fence has opened
 *   R  nobody is robbed: no claim wins while the fence of its predecessor is open
 *   L  a write that came too late is not acknowledged
 *
 * A rule is removed with -DM_...; each is described where it bites. Options: MAXTOK tokens, MAXT ticks, LEASES of each daemon's
 * session, RENEWALS of each epoch, HOLDS (daemon 1 has token 1 from the start, so traces are short), WRITERS, CRASHES, LATE (that many requests arrive when they were given up), DELAY, REPORTED: any
 * DELAY, and L instead of S, and ONLYS: S alone is looked at.
 */
mtype = { U, S, R, L };

#ifdef ONLYS
#define also(x) true
#else
#define also(x) assert(x)
#endif

#ifndef MAXTOK
#define MAXTOK 3
#endif
#ifndef MAXT
#define MAXT 7
#endif
#ifndef LEASES
#define LEASES 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef RENEWALS
#define RENEWALS 2
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef LATE
#define LATE 1
#endif
#ifndef DELAY
#define DELAY 1
#endif

#define TTL 3
#ifdef M_WINDOW            /* the deadline is all of the TTL */
#define WINDOW 3
#else
#define WINDOW 2
#endif

/* etcd. Lease i of daemon h has the id h*LEASES+i. */
byte head = 0, owner = 0;  /* the token, and who has it */
bool released = true;
byte rev = 1;              /* the head's ModRevision */
byte alive = 0;            /* the id of the lease that the alive key is under; 0: there is none */
byte expires[3*LEASES];    /* of a lease; 0: it is not granted, or gone */

/* A request of each daemon whose answer it waits for no more. It may arrive still, once. */
#define NONE 0
#define CLAIM 1
#define WRITE 2            /* the claim goes on under another lease */
#define END 3              /* the head is released */
#define LAPSE 4            /* the alive key goes */
byte late[3], lateRev[3], lateId[3];

/* The daemons' memory. */
byte token[3];             /* the token of the open epoch, 0 closed */
byte from[3];              /* what its deadline counts from */
byte writing[3];           /* the token under which a write is in flight, 0 none */
byte began[3];             /* when that was let in */

byte now = 0;
byte granted = 0;          /* the highest token that the head has had */
byte opened = 0;           /* the highest token under which a fence has opened */
bool up = false;           /* see HOLDS */
byte crashes = CRASHES, strays = LATE;

#define OVER(h) (now >= from[h] + WINDOW)
#ifdef REPORTED
#define HELDUP(h) false
#else
#define HELDUP(h) (writing[h] != 0 && now >= began[h] + DELAY)
#endif

active proctype clock() {
#ifdef HOLDS
	up;
#endif
	do
	:: atomic { now < MAXT && !HELDUP(1) && !HELDUP(2) -> now++ }
	:: now == MAXT -> break
	od
}

/* etcd removes a lease that has run out, and what is under it. */
active proctype removes() {
	byte i;
end:	do
	:: atomic {
		i = 0;
		do
		:: i < 3*LEASES && expires[i] != 0 && now >= expires[i] -> break
		:: i < 3*LEASES -> i++
		:: i == 3*LEASES -> break
		od;
		i < 3*LEASES -> expires[i] = 0;
		if :: alive == i -> alive = 0 :: else fi }
	od
}

/* A transaction of daemon h that compares the head with revision r. id is the lease that it puts the alive key under. */
inline txn(what, h, r, id) {
	done = false;
	if
	:: (what == CLAIM || what == WRITE) && expires[id] == 0       /* etcd knows no such lease */
#ifdef M_NOCOMPARE         /* a claim does not compare the head */
	:: what == CLAIM && expires[id] != 0 ->
		head = sawTok + 1; owner = h; released = false; rev++; alive = id; done = true;
		also(U && head > granted); granted = head
#else
	:: what == CLAIM && expires[id] != 0 && rev == r ->
		also(R && (owner == 0 || token[owner] != head || OVER(owner)));
		head++; owner = h; released = false; rev++; alive = id; done = true;
		also(U && head > granted); granted = head
#endif
#ifdef M_LATEPUT           /* what goes on under another lease does not compare the head */
	:: what == WRITE && expires[id] != 0 ->
		if :: owner != h -> owner = h; head = mine; assert(U && head == granted) :: else fi;
		released = false; rev++; alive = id; done = true
#else
	:: what == WRITE && expires[id] != 0 && rev == r -> rev++; alive = id; done = true
#endif
	:: what == END && rev == r -> released = true; rev++; alive = 0; done = true
	:: what == LAPSE && rev == r -> alive = 0; done = true
	:: else
	fi
}

/* A request that was given up arrives, or is lost. */
active [2] proctype network() {
	byte h = _pid - 1;
	bool done;
	byte sawTok, mine;
end:	do
	:: atomic { late[h] != NONE -> txn(late[h], h, lateRev[h], lateId[h]); late[h] = NONE; lateRev[h] = 0; lateId[h] = 0; done = false }
	:: atomic { late[h] != NONE -> late[h] = NONE; lateRev[h] = 0; lateId[h] = 0 }
	od
}

/* ask: the request is sent; lost says that no answer comes, and then it may be on its way still. */
inline ask(what, r, id) {
	if
	:: atomic { txn(what, h, r, id); lost = false }
	:: atomic { txn(what, h, r, id); lost = true }                /* it is the answer that was lost */
	:: atomic { strays > 0 && late[h] == NONE -> strays--; late[h] = what; lateRev[h] = r; lateId[h] = id; lost = true; done = false }
	fi
}

/* Session.lease: one that is fresh, or another keepalive, or a new lease. ok: lease is one; since is from before it was asked for. */
inline session() {
	since = now;
	ok = false;
	if
	:: lease != 0 -> atomic { if :: expires[lease] != 0 -> expires[lease] = now + TTL; ok = true :: else -> lease = 0 fi }
	:: else
	fi;
	if
	:: !ok && used < LEASES && h*LEASES + used < 3*LEASES ->
		since = now;
		atomic { lease = h*LEASES + used; used++; expires[lease] = now + TTL; ok = true }
	:: else
	fi
}

/* What an epoch that has ended leaves: its head is released, or its alive key goes (Lapse), until it is known (settle.go). */
inline settle(what) {
	do
	:: atomic { sawRev = rev; done = (owner == h && head == mine && !released) };
		if
		:: done -> ask(what, sawRev, 0); if :: !lost && done -> break :: else fi
		:: !done && (sawRev != claimRev || late[h] == NONE) -> break     /* what is on its way can win no more */
		:: else -> late[h] == NONE                                     /* it cannot be on its way for ever */
		fi
	od
}

/* What nothing depends on any more: it is one state. */
#define FORGET done = false; since = 0; sent = 0; sawRev = 0; sawTok = 0; claimRev = 0; lost = false; ok = false; \
	if :: token[h] == 0 -> from[h] = 0; mine = 0; myRev = 0; under = 0; renewals = 0 :: else fi

active [2] proctype daemon() {
	byte h = _pid - 3;
	byte lease = 0, used = 0, since, sent;
	byte under = 0, mine = 0, myRev = 0, renewals = 0;
	byte sawRev = 0, sawTok = 0, claimRev = 0;
	bool done, lost, ok;
#ifdef HOLDS
	if
	:: h == 1 -> atomic { lease = LEASES; used = 1; expires[lease] = TTL; alive = lease; under = lease; head = 1; owner = 1; released = false;
		granted = 1; opened = 1; rev = 2; myRev = 2; mine = 1; token[1] = 1; up = true }
	:: else -> up
	fi;
#endif
	do
	:: token[h] == 0 && head < MAXTOK && now < MAXT ->
		/* Look. The times in a record are for people. */
#ifdef M_NOALIVE           /* the lease of a holder that lives is taken */
		atomic { true -> sawRev = rev; sawTok = head; lost = true };
#else
		atomic { sawRev = rev; sawTok = head; lost = (released || alive == 0) };
#endif
		if
		:: lost ->
			session();
			if
			:: ok ->
				sent = since; claimRev = sawRev; mine = sawTok + 1;
				ask(CLAIM, sawRev, lease);
				if
				:: lost || !done ->                            /* readBack */
					atomic { done = (owner == h && head == mine && !released && rev == sawRev + 1); lost = (lost && !done) };
					if :: lost -> settle(END); done = false :: else fi
				:: else
				fi;
				if
				:: done -> d_step {
					under = lease; myRev = sawRev + 1; from[h] = sent;
#ifdef M_GRANTLATE         /* the deadline counts from when the grant was answered */
					from[h] = now;
#endif
					token[h] = mine;
					if :: !OVER(h) && mine > opened -> opened = mine :: else fi }
				:: else
				fi
			:: else
			fi
		:: else
		fi;
		atomic { FORGET }
	:: token[h] != 0 && renewals < RENEWALS && !OVER(h) ->                /* a round, and a renewal */
		d_step { sent = now; renewals++ };
		atomic { ok = (lease != 0 && expires[lease] != 0); if :: ok -> expires[lease] = now + TTL :: else fi };
		if
		:: ok && under == lease ->
			atomic { done = (rev == myRev) };                      /* prove: nothing here can make it fail; an admin could */
			d_step { if
			:: done ->
#ifdef M_AFTER             /* the deadline counts from after the keepalive */
				from[h] = now
#else
				if :: sent > from[h] -> from[h] = sent :: else fi
#endif
			:: else -> token[h] = 0
			fi }
		:: ok && under == lease                                        /* its answer is lost */
		:: else ->
			if :: !ok -> lease = 0 :: else fi;
			session();
			if
			:: ok ->
				sent = since;
#ifdef M_REMADE            /* a new etcd lease keeps what is under the old one */
				d_step { from[h] = sent; under = lease }
#else
				ask(WRITE, myRev, lease);
				if
				:: done && !lost -> d_step { myRev++; under = lease; if :: sent > from[h] -> from[h] = sent :: else fi }
				:: else ->                                     /* look: another's, or an earlier request's */
					atomic { if
					:: owner == h && head == mine && !released -> myRev = rev; under = 0
					:: else -> token[h] = 0
					fi }
				fi
#endif
			:: else
			fi
		fi;
		atomic { FORGET }
	:: token[h] != 0 ->                                                   /* its time is over, or its holder is stopped */
		token[h] = 0;
		if
#ifdef M_NODRAIN           /* a write may be in flight when the epoch ends */
		:: true -> claimRev = myRev; settle(END)
		:: true -> claimRev = myRev; settle(LAPSE)
#else
		:: writing[h] == 0 -> claimRev = myRev; settle(END)
		:: writing[h] == 0 -> claimRev = myRev; settle(LAPSE)
#endif
		fi;
		atomic { FORGET }
	:: atomic { crashes > 0 && token[h] != 0 -> crashes--; token[h] = 0; writing[h] = 0; began[h] = 0; lease = 0; FORGET }
	:: now == MAXT -> break
	od
}

active [WRITERS] proctype writer() {
	byte h = _pid - 5;
	bool ack;
	byte w;
end:	do
	:: atomic { token[h] != 0 && !OVER(h) && writing[h] == 0 -> writing[h] = token[h]; began[h] = now };
		/* It takes effect. The daemon may have been killed before. */
		d_step { w = writing[h];
#ifndef REPORTED
			assert(S && (w == 0 || w >= opened));
#endif
			ack = (w != 0 && w < opened) };
		/* The fence looks again (rule 10 of the lease). */
		d_step {
#ifndef M_NOLATE
			if :: ack && token[h] == w && !OVER(h) -> assert(L && false) :: else fi;
#else
			if :: ack && w != 0 -> assert(L && false) :: else fi;
#endif
			ack = false; w = 0; writing[h] = 0; began[h] = 0 }
	od
}
