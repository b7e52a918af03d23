# The Debian package in a container: installed, used, upgraded, removed, purged. Sourced by
# container-test.sh.
# shellcheck shell=bash disable=SC2154 # variables of container-test.sh

build_package() {
  local again
  deb=$("$here/package.sh" --out "$work/deb") && again=$("$here/package.sh" --out "$work/again") || return
  cmp "$deb" "$again" || { echo "the same tree gave two packages" && return 1; }
  dpkg-deb --contents "$deb" | awk '$1 !~ /^d/ {print $6, $7, $8}'
}

# next_package builds the same tree as a later version, to upgrade to.
next_package() {
  next=$(VERSION=$(dpkg-deb -f "$deb" Version)+next "$here/package.sh" --out "$work/next")
}

# The image of the tests has fuse3; what the package needs must be there without.
package_story() {
  local options
  mapfile -t options < <(capabilities "${DAEMON_CAPABILITIES[@]}")
  timeout -k 10 300 "${docker[@]}" run --rm --network none --init --device /dev/fuse "${no_apparmor[@]}" "${options[@]}" \
    -v "$work/scratch:/srv" -v "$deb:/jvsfs.deb:ro" -v "$next:/jvsfs-next.deb:ro" \
    -v "$here/container/package-story.sh:/story.sh:ro" "$image" bash /story.sh
}

check "Build the Debian package, twice" build_package
check "Build its successor" next_package
check "Install, use, upgrade, remove and purge it" package_story
