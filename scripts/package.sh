#!/usr/bin/env bash
# Builds a Debian package: the binary, the complete one with etcd, mount.fuse.jvsfs, the units,
# manual pages, completions, an example configuration, alerts and a dashboard.
#
#   scripts/package.sh [--out DIR]    DIR is dist/ by default; prints the package's path
#
# VERSION names the version, without it git does. The same tree gives the same bytes:
# times are those of SOURCE_DATE_EPOCH, without it of the last commit.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

out=$root/dist
case "${1:-}" in
'') ;;
--out) out=${2:?usage: scripts/package.sh [--out DIR]} ;;
*) die "usage: scripts/package.sh [--out DIR]" ;;
esac

command -v dpkg-deb >/dev/null || die "this needs dpkg-deb"
need_go "$root"
mkdir -p "$out"
out=$(cd "$out" && pwd)
umask 022

# A checkout that belongs to somebody else must build too.
of_git() { git -c safe.directory='*' -C "$root" "$@" 2>/dev/null; }

# version_of_git: 1.2.3 at the tag v1.2.3, 1.2.3+4.gabcdef after it, and before any tag
# a version that is lower than every release.
version_of_git() {
  local version
  if version=$(of_git describe --tags --match 'v[0-9]*' --dirty=+dirty); then
    version=${version#v}
    printf '%s\n' "$version" | sed -E 's/-([0-9]+)-(g[0-9a-f]+)/+\1.\2/'
  else
    version=$(of_git log -1 --format=%cd.%h --date=format:%Y%m%d) || version=unknown
    printf '0~%s\n' "$version"
  fi
}

version=${VERSION:-$(version_of_git)}
tag=$(of_git describe --tags --exact-match --match 'v[0-9]*') || tag=''
[[ -n ${VERSION:-} || -z $tag ]] || grep -qF "jvsfs (${tag#v}) " "$here/debian/changelog" ||
  die "scripts/debian/changelog says nothing of $tag"
[[ $version =~ ^[0-9][A-Za-z0-9.+~]*$ ]] || die "$version is not a version that Debian takes"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(of_git log -1 --format=%ct || echo 0)}"
export CGO_ENABLED=0 # static: the package depends on no library
arch=$(go env GOARCH)
case $arch in
386) arch=i386 ;;
arm) arch=armhf ;;
ppc64le) arch=ppc64el ;;
esac

# MOST_BYTES: of the ordinary program. Every short command starts it, and much of that time goes to what is linked in.
readonly MOST_BYTES=20000000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/jvsfs
doc=$tree/usr/share/doc/jvsfs

# put MODE FILE TO: TO is below the package's tree.
put() { install -D -m "$1" "$2" "$tree/$3"; }

build() {
  (cd "$root" && go build -trimpath -buildvcs=false "$@" ./cmd/jvsfs)
}

# licence DIR: of the module there; Debian has the long one already.
licence() {
  if grep -q 'Apache License' "$1"/LICENSE*; then
    echo "Apache License, version 2.0: /usr/share/common-licenses/Apache-2.0"
    cat "$1"/NOTICE* 2>/dev/null || true
  else
    cat "$1"/LICENSE*
  fi
}

# licences: of everything that is linked in.
licences() {
  local module version dir
  cat "$here/debian/copyright"
  (cd "$root" && go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' -tags jvsfs_etcd ./cmd/jvsfs) |
    sort -u |
    while read -r module version dir; do
      printf '\n== %s %s\n\n' "$module" "$version"
      licence "$dir"
    done
  printf '\n== Go, its run-time library\n\n'
  cat "$(go env GOROOT)/LICENSE"
}

install_docs() {
  local page
  build -tags jvsfs_docs -ldflags "-X main.release=$version" -o "$work/jvsfs-docs"
  "$work/jvsfs-docs" docs "$work/docs"
  for page in "$work"/docs/man/*; do
    gzip -9n "$page"
    put 644 "$page.gz" "usr/share/man/man${page##*.}/${page##*/}.gz"
  done
  for page in mount.jvsfs umount.fuse.jvsfs umount.jvsfs; do
    ln -s mount.fuse.jvsfs.8.gz "$tree/usr/share/man/man8/$page.8.gz"
  done
  put 644 "$work/docs/completions/jvsfs.bash" usr/share/bash-completion/completions/jvsfs
  put 644 "$work/docs/completions/_jvsfs" usr/share/zsh/vendor-completions/_jvsfs
  put 644 "$work/docs/completions/jvsfs.fish" usr/share/fish/vendor_completions.d/jvsfs.fish
  put 644 "$work/docs/examples/jvsfs.yaml" usr/share/doc/jvsfs/examples/jvsfs.yaml
  put 644 "$here/debian/jvsfs-uring.conf" usr/share/doc/jvsfs/examples/jvsfs-uring.conf
}

install_files() {
  local helper unit file size
  build -ldflags "-s -w -X main.release=$version" -o "$work/bin"
  size=$(stat -c %s "$work/bin")
  ((size <= MOST_BYTES)) || die "the ordinary program has $size bytes, more than $MOST_BYTES: what has it got from where? go list -deps ./cmd/jvsfs"
  put 755 "$work/bin" usr/bin/jvsfs
  build -tags jvsfs_etcd -ldflags "-s -w -X main.release=$version" -o "$work/complete"
  put 755 "$work/complete" usr/lib/jvsfs/jvsfs-etcd # jvsfs looks for it there
  install -d "$tree/usr/sbin" "$tree/etc/jvsfs"
  # mount(8) and umount(8) look for the first, and for the second when they are told -t jvsfs.
  for helper in mount.fuse.jvsfs mount.jvsfs umount.fuse.jvsfs umount.jvsfs; do
    ln -s ../bin/jvsfs "$tree/usr/sbin/$helper"
  done
  for unit in "$here"/systemd/*; do
    [[ -e $unit ]] || continue
    put 644 "$unit" "usr/lib/systemd/system/${unit##*/}"
  done
  for file in "$here"/fence/*; do
    put 755 "$file" "usr/lib/jvsfs/${file##*/}"
  done
  put 644 "$here/debian/sysusers.conf" usr/lib/sysusers.d/jvsfs.conf
  for file in "$here"/monitoring/*; do
    put 644 "$file" "usr/share/jvsfs/monitoring/${file##*/}"
  done
}

install_papers() {
  licences >"$work/copyright"
  put 644 "$work/copyright" usr/share/doc/jvsfs/copyright
  put 644 "$here/debian/lintian-overrides" usr/share/lintian/overrides/jvsfs
  changelog | gzip -9n >"$doc/changelog.gz"
}

# changelog: scripts/debian/changelog is the one source. A version between releases gets an
# entry of its own on top; a release must have been written down.
changelog() {
  local source=$here/debian/changelog
  if [[ $(sed -n '1s/^jvsfs (\(.*\)) .*/\1/p' "$source") != "$version" ]]; then
    printf 'jvsfs (%s) UNRELEASED; urgency=medium\n\n  * A build between releases.\n\n' "$version"
    printf ' -- The jvsfs authors <jvsfs@localhost>  %s\n\n' "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
  fi
  cat "$source"
}

control() {
  local size script
  size=$(du -k --apparent-size -s "$tree" | cut -f 1)
  install -d "$tree/DEBIAN"
  sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$size/" "$here/debian/control" >"$tree/DEBIAN/control"
  for script in postinst prerm postrm; do
    install -m 755 "$here/debian/$script" "$tree/DEBIAN/$script"
  done
  (cd "$tree" && find usr -type f -printf '%P\0' | LC_ALL=C sort -z | sed -z 's,^,usr/,' | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
}

install_files
install_docs
install_papers
control
deb=$out/jvsfs_${version}_$arch.deb
# One thread: how xz cuts the input depends on how many there are.
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$tree" "$deb" >/dev/null
printf '%s\n' "$deb"
