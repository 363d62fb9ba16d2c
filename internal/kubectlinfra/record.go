package kubectlinfra

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

func newRecord(f *factory, s Streams) *cobra.Command {
	var exitCode bool
	var output string
	cmd := &cobra.Command{
		Use:   "record (NAME | TYPE/NAME)",
		Short: "Show the record of a deployment beside the object, as its PDS has it",
		Long: "Show the record of a deployment beside the object, as its PDS has it. The record is read past the API server, " +
			"at the PDS that the AtprotoRepo's status names.\n\n" +
			"'!' marks what differs. '+' marks what the record holds beyond the kind: it stays, and is no difference.\n\n" +
			"With --exit-code, as of diff: 0 without differences, 1 with some, 2 on an error.",
		Example: "  kubectl infra record web\n\n  # The raw record alone\n  kubectl infra record web -o json\n\n" +
			"  # Tell by the exit code whether they are the same\n  kubectl infra record web --exit-code",
		ValidArgsFunction: f.completeNames(1, infras, ephemeralInfras),
		RunE: func(cmd *cobra.Command, args []string) error {
			differ, err := func() (bool, error) {
				switch {
				case len(args) != 1:
					return false, usage(cmd, "exactly one deployment is required, %d are given", len(args))
				case !slices.Contains([]string{"", "json"}, output):
					return false, usage(cmd, "unable to match a printer suitable for the output format %q, allowed formats are: json", output)
				}
				c, t, err := f.open(args[0])
				if err != nil {
					return false, err
				}
				return showRecord(cmd.Context(), c, t, s.Out, output)
			}()
			switch {
			case !exitCode:
				return err
			case err != nil:
				return &exit{code: 2, err: err}
			case differ:
				return &exit{code: 1}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "Exit with 1 if record and object differ, and with 2 on an error.")
	cmd.Flags().StringVarP(&output, "output", "o", "", "Output format: json, the raw record.")
	completeFlag(cmd, "output", oneOf("json"))
	return cmd
}

func showRecord(ctx context.Context, c *client, t target, out io.Writer, output string) (differ bool, err error) {
	p, err := readPair(ctx, c, t)
	if err != nil {
		return false, err
	}
	rows, err := p.compare()
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		differ = differ || r.mark == differs
	}
	if output == "json" {
		text, err := rawJSON(p.record)
		if err == nil {
			_, err = out.Write(text)
		}
		return differ, err
	}
	return differ, p.print(out, rows)
}

// rawJSON is the record in atproto's JSON form.
func rawJSON(r *atproto.Record) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r.Value); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return out.Bytes(), nil
}

// errPrivate is of a deployment that has no record.
var errPrivate = errors.New("it is private: it has no record")
