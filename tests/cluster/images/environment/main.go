// Command environment lists the variables of the container that it is run in, by name: the images
// of the demo have no shell to ask. It shows the values of those that its arguments name, and of no
// other, because any other may be a secret.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	list(os.Stdout, os.Environ(), os.Args[1:])
}

func list(out io.Writer, environment, shown []string) {
	for _, variable := range slices.Sorted(slices.Values(environment)) {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case slices.Contains(shown, name):
			fmt.Fprintf(out, "%s=%s\n", name, value)
		case value == "":
			fmt.Fprintf(out, "%s (empty)\n", name)
		default:
			fmt.Fprintf(out, "%s (present, not shown)\n", name)
		}
	}
}
