package main

import (
	"fmt"
	"strings"
)

// task is what the tool is asked to do.
type task int

const (
	doNothing task = iota
	doList
	doQuery
	doPersistence
	doReset
)

// request is a command line.
type request struct {
	do     task
	gpus   []string // as -i names them; none is all
	fields []string // of a query
	on     bool     // persistence mode
	csv    bool
}

// parse reads the command line, in the real tool's spellings.
func parse(args []string) (r request, err error) {
	for len(args) > 0 {
		option, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if takesValue(option) && !joined {
			if len(args) == 0 {
				return r, invalid(option + " needs a value")
			}
			value, args = args[0], args[1:]
		}
		if err := r.take(option, value); err != nil {
			return r, err
		}
	}
	if r.do == doNothing || r.do == doQuery && !r.csv {
		return r, invalid("the simulated tool does -L, -pm, --gpu-reset, and --query-gpu with --format=csv,noheader")
	}
	return r, nil
}

func takesValue(option string) bool {
	switch option {
	case "-i", "--id", "-pm", "--persistence-mode", "--query-gpu", "--format":
		return true
	}
	return false
}

func (r *request) take(option, value string) error {
	switch option {
	case "-L", "--list-gpus":
		r.do = doList
	case "-r", "--gpu-reset":
		r.do = doReset
	case "--query-gpu":
		r.do, r.fields = doQuery, strings.Split(value, ",")
	case "-pm", "--persistence-mode":
		if value != "0" && value != "1" {
			return invalid(fmt.Sprintf("%q is not a persistence mode", value))
		}
		r.do, r.on = doPersistence, value == "1"
	case "--format":
		if value != "csv,noheader" {
			return invalid(fmt.Sprintf("format %q is not csv,noheader", value))
		}
		r.csv = true
	case "-i", "--id":
		r.gpus = strings.Split(value, ",")
	default:
		return invalid(fmt.Sprintf("option %q is not recognized", option))
	}
	return nil
}

func invalid(text string) error {
	return failure{badArgument, "Invalid combination of input arguments: " + text}
}
