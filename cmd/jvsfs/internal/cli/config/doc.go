// Package config is jvsfs config: what a configuration comes to and where each value is from, and the mistakes in files. It changes
// nothing.
package config
