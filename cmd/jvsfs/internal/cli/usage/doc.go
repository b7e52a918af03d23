// Package usage judges a command line before its command runs: arguments, flags and their values, and the name of the command. Each
// mistake is a usage error that says which word is wrong and how the command is typed.
//
// What an argument or a flag names is looked up elsewhere (cli/flags, cli/lookup).
package usage
