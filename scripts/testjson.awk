# Reads `go test -json`: shows results as they come, the output of what failed in
# full, and writes "passed failed skipped" to the file named by the variable counts.
# Plain POSIX awk: Debian has mawk.
#
# Counted are tests and subtests. A package that fails with no failing test of its
# own (it does not build, it timed out, a check after the tests) counts as one.

function field(name,    s) {
  if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
  s = substr($0, RSTART, RLENGTH)
  return substr(s, length(name) + 5, length(s) - length(name) - 5)
}

function plain(s) {
  gsub(/\\\\/, "\001", s)
  gsub(/\\n/, "\n", s); gsub(/\\r/, "", s); gsub(/\\t/, "\t", s); gsub(/\\"/, "\"", s)
  gsub(/\\u003c/, "<", s); gsub(/\\u003e/, ">", s); gsub(/\\u0026/, "\\&", s); gsub(/\\u001b/, "\033", s)
  gsub(/\001/, "\\", s)
  return s
}

function elapsed() {
  return match($0, /"Elapsed":[0-9.]+/) ? substr($0, RSTART + 10, RLENGTH - 10) : "0"
}

function show(key) {
  if (key in out) printf "%s", out[key]
  delete out[key]
}

# What is not JSON comes from the go command itself.
!/^\{/ { print; fflush(); next }

{
  action = field("Action"); pkg = field("Package"); test = field("Test")
  key = pkg SUBSEP test
}

action == "build-output" { key = field("ImportPath"); out[key] = out[key] plain(field("Output")); next }
action == "build-fail" { show(field("ImportPath")); next }
action == "output" { out[key] = out[key] plain(field("Output")); next }

test != "" && action == "pass" { passed++; delete out[key] }
# What harness.NotInContainer leaves out is not counted.
test != "" && action == "skip" && out[key] ~ /left out in a container/ { printf "left out  %s %s\n", pkg, test; delete out[key]; next }
test != "" && action == "skip" { skipped++; printf "SKIP  %s %s\n", pkg, test; show(key) }
test != "" && action == "fail" { failed++; failures[pkg]++; printf "FAIL  %s %s (%ss)\n", pkg, test, elapsed(); show(key) }
test != "" && verbose && action == "pass" && test !~ /\// { printf "pass  %s (%ss)\n", test, elapsed() }

test == "" && action == "pass" { printf "ok    %s (%ss)\n", pkg, elapsed(); delete out[key] }
test == "" && action == "fail" {
  printf "FAIL  %s (%ss)\n", pkg, elapsed()
  if (!failures[pkg]) failed++
  for (k in out) {
    split(k, part, SUBSEP)
    if (part[1] == pkg) show(k)
  }
}
{ fflush() }

END { printf "%d %d %d\n", passed, failed, skipped > counts }
