// Package refusals records what was refused: in the log, in the audit chain (the first of a kind at once, the rest counted), and in a
// bounded memory of the latest, which says who was refused. A request that is refused waits for none of them. Whether something is refused
// is decided elsewhere, and who may ask for what is remembered, too, but for one rule: a user sees the refusals of his own processes.
package refusals
