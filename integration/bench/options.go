package main

import (
	"errors"
	"flag"
	"regexp"
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
	sessions           bool
	plot, json         string
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
	targets := f.String("targets", "native,jvsfs,loopback,bindfs,overlayfs", "only the targets of the `LIST`; native always")
	f.BoolVar(&o.markdown, "markdown", false, "print the table as Markdown")
	f.BoolVar(&o.requests, "requests", false, "print the requests per operation by kind")
	f.BoolVar(&o.cpu, "cpu", false, "print the processor time too")
	f.BoolVar(&o.clients, "clients", false, "measure 1, 2, 4, 8 and 16 clients together too")
	f.BoolVar(&o.noRefused, "no-refused", false, "do not compare refused with admitted calls")
	f.StringVar(&o.plot, "plot", "", "draw to `FILE` (.svg or .png)")
	f.StringVar(&o.json, "json", "", "write all figures to `FILE`")
	_ = f.Parse(args)
	return o, o.choose(*rows, *targets, media(*disk, *image, *tmpfs))
}

func (o *options) choose(rows, targets string, media []func(string) (medium, error)) error {
	pattern, err := regexp.Compile(rows)
	if err != nil {
		return err
	}
	if o.targets, err = namedTargets(targets); err != nil {
		return err
	}
	o.sessions = pattern.MatchString(sessionWork)
	if o.rows = matchingRows(pattern); len(o.rows) == 0 && !o.clients && !o.sessions || o.rounds < 1 {
		return errors.New("nothing to do")
	}
	o.media = media
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
