// Package journey counts which functions of jvsfs run for each write and for each new file, and holds that these do not become more: see
// integration/house, whose file has the figures.
package journey
