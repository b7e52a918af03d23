// Package human is how values are written for people and for programs: times, spans, tables,
// one value of JSON. It makes text of others safe to print.
package human
