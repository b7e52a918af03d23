// Package rules joins the configuration, which knows how rules are spelled, and gate/lockfile, which knows what they mean.
package rules
