// Package finding is the result of a check: what is wrong, why it matters and how to repair it. doctor reports
// findings. So do daemons, for the lock directories that their mounts hide.
package finding
