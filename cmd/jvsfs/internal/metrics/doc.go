// Package metrics writes and reads the text format of Prometheus (version 0.0.4), and serves it over HTTP.
//
// Prometheus' own library does so, too, and far more: with the Protocol Buffers that it brings it was a tenth of the program, and a third
// of what happened in each short command before main. Here is what these metrics are: values that are made at each scrape, with labels that
// are known beforehand. The tests hold the text against that library, byte for byte. Timestamps, exemplars, and the other formats that a
// scraper may ask for are not here; who asks for them gets this one, as the protocol has it.
package metrics
