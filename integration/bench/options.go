package main

import (
	"errors"
	"flag"
	"regexp"
	"slices"
	"time"
)

type options struct {
	programs           programs
	rounds             int
	dir                string
	media              []func(work string) (medium, error)
	rows               []row
	targets            []target
	markdown, requests bool
	cpu                bool
	clients, noRefused bool
	clientRows         []row
	sessions           bool
	floor, quick, load bool
	budget             time.Duration // no row is begun after it
	plot, json         string
	save, compare      string
	commit, command    string
}

func parseOptions(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ExitOnError)
	f.StringVar(&o.programs.jvsfs, "jvsfs", "jvsfs", "`binary` of jvsfs")
	f.StringVar(&o.programs.loopback, "loopback", "loopback", "`binary` of go-fuse's loopback example")
	f.StringVar(&o.programs.passthroughLL, "passthrough-ll", "passthrough_ll", "`binary` of libfuse's passthrough_ll example, for the target of that name")
	f.IntVar(&o.rounds, "rounds", 5, "measure `N` rounds")
	f.StringVar(&o.dir, "dir", "/var/tmp", "work below `DIR`, on a disk")
	tmpfs := f.Bool("tmpfs", false, "on a tmpfs too")
	disk := f.Bool("disk", true, "on the disk")
	image := f.Bool("image", false, "on an ext4 in a file on the disk, instead of the disk's own file system")
	rows := f.String("rows", "", "only the rows that match the `REGEX`")
	targets := f.String("targets", "native,jvsfs,jvsfs-dev,jvsfs-uring,loopback,bindfs,overlayfs", "only the targets of the `LIST`; native always")
	f.BoolVar(&o.markdown, "markdown", false, "print the table as Markdown")
	f.BoolVar(&o.requests, "requests", false, "print the requests per operation by kind")
	f.BoolVar(&o.cpu, "cpu", false, "print the processor time too")
	f.BoolVar(&o.clients, "clients", false, "measure 1, 2, 4, 8 and 16 clients together too")
	f.BoolVar(&o.noRefused, "no-refused", false, "do not compare refused with admitted calls")
	f.StringVar(&o.plot, "plot", "", "draw to `FILE` (.svg or .png)")
	f.StringVar(&o.json, "json", "", "write all figures to `FILE`")
	f.BoolVar(&o.floor, "floor", false, "measure the 15 rows of the floor, unless --rows names others, and print its model (a run of all rows does)")
	f.BoolVar(&o.load, "load", false, "measure again while every processor is busy")
	f.StringVar(&o.save, "save", "", "write the ratios to `FILE` (CSV)")
	f.StringVar(&o.compare, "compare", "", "print the rows that are slower than in `FILE` by more than 10 %")
	f.BoolVar(&o.quick, "quick", false, "some rows on a tmpfs, two rounds, jvsfs alone: a minute")
	f.StringVar(&o.command, "command", "", "the `LINE` that was typed, for --save")
	f.StringVar(&o.commit, "commit", "unknown", "the `COMMIT` that jvsfs was built from, for --save")
	_ = f.Parse(args)
	if o.quick {
		o.rounds, o.noRefused, o.budget = 2, true, quickBudget
		*disk, *image, *tmpfs, *targets = false, false, true, "jvsfs"
	}
	return o, o.choose(*rows, *targets, o.places(media(*disk, *image, *tmpfs)))
}

// places are the media, and with --load each of them a second time.
func (o *options) places(media []func(string) (medium, error)) (out []func(string) (medium, error)) {
	for _, open := range media {
		if out = append(out, open); o.load {
			out = append(out, loaded(open))
		}
	}
	return out
}

func (o *options) choose(rows, targets string, media []func(string) (medium, error)) error {
	pattern, err := regexp.Compile(rows)
	if err != nil {
		return err
	}
	if o.targets, err = namedTargets(targets); err != nil {
		return err
	}
	o.sessions = pattern.MatchString(sessionWork) && !o.floor && !o.quick
	if o.rows = matchingRows(pattern); rows == "" {
		o.rows = slices.DeleteFunc(o.rows, func(r row) bool { return o.quick && !isQuickRow(r.name) || o.floor && !isFloorRow(r.name) })
	}
	if len(o.rows) == 0 && !o.clients && !o.sessions || o.rounds < 1 {
		return errors.New("nothing to do")
	}
	o.media = media
	o.clientRows = slices.DeleteFunc(clientRows(), func(r row) bool { return !pattern.MatchString(r.name) })
	if len(o.clientRows) == 0 { // --rows says which of the others
		o.clientRows = clientRows()
	}
	return nil
}

func media(disk, image, tmpfs bool) (out []func(string) (medium, error)) {
	switch {
	case image:
		out = append(out, imageMedium)
	case disk:
		out = append(out, diskMedium)
	}
	if tmpfs {
		out = append(out, tmpfsMedium)
	}
	return out
}
