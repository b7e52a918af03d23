/*
 * The rename of a worktree's root, as gate/freeze.go and fusefs/move.go, admit.go and serving.go do it, for SPIN.
 * scripts/model.sh runs it.
 *
 * One tree has one of two names, and each name a lease. Two daemons serve the repository, or one of them mounts and unmounts
 * as it likes. Each takes and gives back both leases. The first has somebody who renames; the second one, or the only one,
 * has a writer, by path and by an open file.
 * Every atomic operation of Go is one step; threads stop between any two of them for as long as you like. That a close
 * drains is proven apart, by gate/drain.pml; here closing is one step and waiting for what is in flight another.
 *
 * The letter in an assert is the property (each letter is true by itself):
 *   N  what is written was let in under the lease of the name that the tree has at that moment, and that lease is still held
 *   R  a root is renamed while the daemon holds the leases of both names
 *   E  (no assert: SPIN finds an end state that is none) a rename, a mount and a close return
 * Options: BOTH rename.
 * Removed rules, each described where it bites: M_NOFREEZE, M_NODRAIN, M_RULEFIRST, M_HANDLEFIRST, M_THAWFIRST, M_ONCE,
 * M_NOBYTE, M_LOOKFIRST, M_MOUNTFIRST, M_AFTER, M_CONVERT.
 */
mtype = { N, R };

#ifndef LEASES
#define LEASES 3           /* how often one is taken, of both names together */
#endif
#ifndef RENAMES
#define RENAMES 2
#endif
#ifndef MOUNTS
#define MOUNTS 1           /* how often the second daemon mounts; the first one serves all the time */
#endif
#define NOBODY 2           /* holds it */
#define AT(d,n) ((d)*2+(n))

/* The repository. */
bool place = 0;            /* the name that the tree has */
byte holder[2] = NOBODY;   /* the daemon that has each name's lease */
byte token[2];             /* that it has */
byte taken = 0;            /* tokens, of both names together: no two leases have the same */
bool serving[2];           /* byteServing */
bool renaming[2];          /* byteRenaming */

/* A daemon. */
bool up[2];                /* it has a mount */
bool at[2];                /* place: the name that it knows the tree by */
byte moves[2];             /* rawFS.moves */
byte open[4];              /* Guard.open: the token, 0 for none */
byte inflight[4];          /* of the epochs of a guard */
bool frozen[2];            /* Guard.frozen, of both */
byte renames = 0, mounts = 0;

/* A writer's open file. */
byte claim[2];             /* its token, 0 for none */
bool claimed[2];           /* the guard */
bool disowned[2];

inline effect(d, n, t) {
	assert(N && place == n && holder[n] == d && token[n] == t) /* the tree has another name, or that name another holder */
}

proctype Writer(bool d) {
	byte t = 0, seen;
	bool n, was;
end:	do                                                            /* a writer may stop for good */
	:: up[d] ->
		if
		:: seen = moves[d];                                   /* settled: by path */
			d_step { n = at[d]; t = open[AT(d,n)] };      /* Guard.Enter */
			if
			:: t == 0 -> goto next                        /* refused */
			:: atomic { t != 0 -> inflight[AT(d,n)]++ }
			fi;
			if
			:: open[AT(d,n)] != t || frozen[d] -> inflight[AT(d,n)]--; goto next  /* closed, or it waits and decides anew */
			:: else
			fi;
#ifndef M_RULEFIRST        /* nobody looks whether the rule is still the one */
			if
			:: moves[d] != seen -> inflight[AT(d,n)]--; goto next
			:: else
			fi;
#endif
			/* paused here for as long as you like */
			effect(d, n, t);
			if
			:: claim[d] = t; claimed[d] = n; disowned[d] = false /* the file that was opened, if any */
			:: skip
			fi;
			inflight[AT(d,n)]--
		:: atomic { claim[d] != 0 -> t = claim[d]; n = claimed[d]; was = disowned[d] }; /* admitHandle */
			if
			:: was || open[AT(d,n)] != t -> goto next
			:: atomic { else -> inflight[AT(d,n)]++ }
			fi;
			if
			:: open[AT(d,n)] != t || frozen[d] -> inflight[AT(d,n)]--; goto next
			:: else
			fi;
#ifndef M_HANDLEFIRST      /* whether the file's tree came under another rule is not looked at once it is counted */
			if
			:: disowned[d] -> inflight[AT(d,n)]--; goto next
			:: else
			fi;
#endif
			effect(d, n, t);
			inflight[AT(d,n)]--
		fi;
next:
		skip; d_step { t = 0; n = 0; seen = 0; was = false }
	od
}

/* lease.Keeper of one name, in both daemons. */
proctype Leases(bool n) {
	bool d;
end:	do
	:: atomic { (holder[n] == NOBODY && taken < LEASES) ->
			if :: up[0] -> d = 0 :: up[1] -> d = 1 fi;
			holder[n] = d; taken++; token[n] = taken; open[AT(d,n)] = taken };
endheld:	open[AT(d,n)] = 0;                                    /* Guard.Close: released, expired or stolen, at any moment or never */
		atomic { inflight[AT(d,n)] == 0 -> holder[n] = NOBODY; d = 0 }
	od
}

inline permission(d) {
	ok = false;
	inflight[AT(d,p)]++;
	if
	:: open[AT(d,p)] == 0 -> inflight[AT(d,p)]--
	:: else ->
		inflight[AT(d,q)]++;
		if
		:: open[AT(d,q)] == 0 -> inflight[AT(d,q)]--; inflight[AT(d,p)]--
		:: else -> ok = true
		fi
	fi
}

inline leaveBoth(d) { inflight[AT(d,q)]--; inflight[AT(d,p)]-- }

/* serving.announce. */
inline announce(d) {
#ifdef M_CONVERT           /* flock: the shared lock is made an exclusive one, and lost where that fails */
	atomic {
		ok = !serving[1-d];
		if
		:: ok -> renaming[d] = true
		:: else -> serving[d] = false
		fi
	};
	if
	:: !ok -> atomic { !renaming[1-d]; serving[d] = true }
	:: else
	fi
#else
#ifdef M_AFTER             /* others are looked for when the name has changed */
	ok = true
#else
#ifdef M_LOOKFIRST         /* who renames says so after it has looked for others */
	ok = !serving[1-d];
	if :: ok -> renaming[d] = true :: else fi
#else
#ifndef M_NOBYTE           /* who renames does not say so */
	renaming[d] = true;
#endif
	ok = !serving[1-d];
	if :: !ok -> renaming[d] = false :: else fi
#endif
#endif
#endif
}

/* fusefs.moveRoot. */
proctype Mover(bool d) {
	bool p, q, ok;
end:	do
	:: atomic { (up[d] && renames < RENAMES) -> renames++ };
		d_step { p = at[d]; q = !p };                         /* the kernel names what it has looked up */
#ifndef M_CONVERT
		permission(d);
		if
		:: !ok -> goto done
		:: else -> leaveBoth(d)
		fi;
#endif
		announce(d);                                          /* M_CONVERT: by anybody, for permission comes later */
		if :: !ok -> goto done :: else fi;
#ifndef M_NOFREEZE         /* what comes after the drain is not kept out */
		frozen[d] = true;                                     /* Enforcement.Freeze */
#endif
#ifndef M_NODRAIN          /* nobody waits for what is in flight */
		if
		:: inflight[AT(d,p)] == 0
		:: goto thaw                                          /* not in time */
		fi;
		if
		:: inflight[AT(d,q)] == 0
		:: goto thaw
		fi;
#endif
#ifdef M_ONCE              /* permission is not asked again */
		inflight[AT(d,p)]++; inflight[AT(d,q)]++;
#else
		permission(d);
		if :: !ok -> goto thaw :: else fi;
#endif
		atomic {                                              /* renameat2, below tree */
			if
			:: place == p ->
				assert(R && holder[p] == d && holder[q] == d); /* somebody else holds one of the names */
				place = q
			:: else -> ok = false                                                 /* ENOENT */
			fi
		};
#ifdef M_THAWFIRST         /* what waits goes on before it is noted where everything stands */
		frozen[d] = false;
#endif
		if
		:: ok ->
			at[d] = q;                                     /* moved, below tree */
			moves[d]++;
			d_step {
				if
				:: claim[d] != 0 && claimed[d] != q -> disowned[d] = true
				:: else
				fi
			}
		:: else
		fi;
		leaveBoth(d);
thaw:
		frozen[d] = false;
		renaming[d] = false;
done:
		skip; d_step { ok = false; p = 0; q = 0 }
	od
}

/* Server.Open: serving.serve, and then the first look at the tree. */
inline Mount(d) {
#ifdef M_MOUNTFIRST        /* who mounts looks for a rename before it says that it serves */
	!renaming[1-d];
	at[d] = place;
	serving[d] = true;
#else
	serving[d] = true;
#ifndef M_NOBYTE
	!renaming[1-d];
#endif
	at[d] = place;
#endif
	moves[d]++;                                                   /* no request lasts from one mount to the next */
	up[d] = true
}

active proctype Second() {
end:	do
	:: mounts < MOUNTS ->
		mounts++;
		Mount(1);
		/* Unmounted: nothing is open, nor held, nor under way. */
endmounted:	atomic { (holder[0] != 1 && holder[1] != 1 && !renaming[1] && !frozen[1] &&
			inflight[2] == 0 && inflight[3] == 0) -> up[1] = false; claim[1] = 0 };
		serving[1] = false
	od
}

init {
	atomic {
		serving[0] = true; up[0] = true;
		run Mover(0); run Leases(0); run Leases(1);
#if MOUNTS == 0
		run Writer(0)
#else
		run Writer(1)
#ifdef BOTH
		; run Mover(1)
#endif
#endif
	}
}
