package main

import (
	"flag"
	"fmt"
)

const defaultName = "default"

type options struct {
	name             string
	controlPlaneOnly bool
	keepData         bool
}

// parseOptions reads the options of `up` and `run`.
func parseOptions(verb string, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.StringVar(&o.name, "name", defaultName, "which cluster")
	flags.BoolVar(&o.controlPlaneOnly, "control-plane-only", false, "no node: pods stay pending")
	flags.BoolVar(&o.keepData, "keep-data", false, "leave the data directory when the cluster stops")
	return o, parse(flags, args)
}

func (o options) args() []string {
	return []string{
		"--name", o.name,
		fmt.Sprintf("--control-plane-only=%t", o.controlPlaneOnly),
		fmt.Sprintf("--keep-data=%t", o.keepData),
	}
}

func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s takes no argument %q", flags.Name(), flags.Arg(0))
	}
	return nil
}
