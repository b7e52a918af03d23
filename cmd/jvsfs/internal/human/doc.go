// Package human writes values for people and for programs: times, spans, tables, one value of JSON. It makes
// text of other users safe to print.
package human
