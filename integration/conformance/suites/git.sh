# What git does to a file system, each step a case: clone, gc, fsck, worktrees, stash,
# links, modes, packs.
# shellcheck shell=bash

# g DIR ARG...: git without the user's own settings.
g() {
  local dir=$1
  shift
  HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_TERMINAL_PROMPT=0 \
    timeout -k 5 120 git -C "$dir" -c user.name=n -c user.email=e@example.org -c safe.directory='*' -c init.defaultBranch=main \
    -c advice.detachedHead=false -c core.fsync=all -c gc.autoDetach=false "$@"
}

# told NAME COMMAND...: its exit code and what it says on standard output.
told() {
  local name=$1 said code=0
  shift
  said=$("$@" </dev/null) || code=$?
  printf 'git/%s\t%d %s\n' "$name" "$code" "$(printf '%s' "$said" | tr '\n\t' '/ ' | head -c 3000)"
}

git_files() {
  local i
  mkdir -p "$1/sub/deep"
  for ((i = 0; i < 300; i++)); do
    printf 'file %d\n' "$i" >"$1/sub/f$i"
  done
  ln -s sub/f1 "$1/link"
  ln -s nowhere "$1/dangling"
  printf '#!/bin/sh\necho run\n' >"$1/tool"
  chmod 755 "$1/tool"
  printf 'odd' >"$1/sub/"$'a\xffb'
  head -c 300000 /dev/zero >"$1/sub/deep/zeros"
}

suite_git() {
  local d=$1 r=$1/repo
  mkdir "$r"
  told init g "$r" init -q
  git_files "$r"
  told add g "$r" add -A
  told commit g "$r" commit -qm first
  told status g "$r" status --porcelain
  told tree g "$r" rev-parse 'HEAD^{tree}'
  told clone g "$d" clone -q repo local
  told clone-nolinks g "$d" clone -q --no-hardlinks repo copied
  told clone-shared g "$d" clone -q --shared repo shared
  told clone-bare g "$d" clone -q --bare repo bare.git
  told clone-status g "$d/local" status --porcelain
  told worktree g "$r" worktree add -q ../tree -b other
  told worktree-status g "$d/tree" status --porcelain
  git_changes "$d" "$r"
  told branch-commit g "$d/tree" commit -qam second
  told push g "$d/tree" push -q ../bare.git other
  told gc g "$r" gc -q --aggressive --prune=now
  told repack g "$r" repack -q -a -d -f --write-bitmap-index
  told fsck g "$r" fsck --full --strict
  told fsck-bare g "$d/bare.git" fsck --full
  told merge g "$r" merge -q --no-ff -m merge other
  told log g "$r" log --format=%T%s
  told worktree-move g "$r" worktree move ../tree ../moved
  told worktree-remove g "$r" worktree remove --force ../moved
  told worktree-list git_worktrees "$r"
  told clean g "$r" clean -fdxq
  told maintenance g "$r" maintenance run --task=gc --task=commit-graph
  told archive git_archive "$r"
  told fetch g "$d/local" fetch -q origin
  told rebase g "$d/local" rebase -q origin/main
  told bisect g "$r" reset -q --hard HEAD~1
  told last-status g "$r" status --porcelain
  told last-fsck g "$r" fsck --full
}

git_changes() {
  local d=$1
  printf 'changed\n' >>"$d/tree/sub/f5"
  chmod 644 "$d/tree/tool"
  mv "$d/tree/sub/f6" "$d/tree/f6"
  rm "$d/tree/link"
  told diff g "$d/tree" diff --stat
  told stash g "$d/tree" stash -q -u
  told stash-pop g "$d/tree" stash pop -q
  told checkout g "$d/tree" checkout -q -- sub/f5
  told reset g "$d/tree" reset -q
  printf 'again\n' >>"$d/tree/sub/f7"
  told racy g "$d/tree" status --porcelain
}

git_worktrees() { g "$1" worktree list --porcelain | grep -c ^worktree; }
git_archive() { g "$1" archive HEAD | md5sum; }
