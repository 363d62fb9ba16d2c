package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	controllercommand "socialweb.computer/infra-apiserver/internal/controller/command"
)

// ofOthers are flags in the docs' text that are other programs': those of kcp, of
// kube-apiserver, of etcd and its tools, and of kubectl.
var ofOthers = regexp.MustCompile(`^(shard-|cache-kubeconfig$|proxy-client-cert-file$|quota-backend-bytes$|cascade$|watch$|prefix$|ephemeral$|set$|exit-code$|url$|help$)`)

// Every flag that the text of the docs for operators names is one of ours, or of a
// program that it is known to be of. (Code blocks are other programs' as a rule.)
func TestFlagsOfTheDocs(t *testing.T) {
	known := map[string]bool{}
	add := func(flags *pflag.FlagSet) { flags.VisitAll(func(f *pflag.Flag) { known[f.Name] = true }) }
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		add(cmd.Flags())
		add(cmd.PersistentFlags())
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(t.Context()))
	controller := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	controllercommand.NewOptions().AddFlags(controller)
	add(controller)

	block := regexp.MustCompile("(?s)```.*?```")
	code := regexp.MustCompile("`[^`]*`")
	// "--audit-…" is all flags of that beginning.
	flag := regexp.MustCompile(`(?:^|[\s(])--([a-z][a-z0-9-]*)(…?)`)
	seen := 0
	for _, name := range []string{"operations.md", "deploy.md", "kcp.md"} {
		doc, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range code.FindAllString(block.ReplaceAllString(string(doc), ""), -1) {
			span = strings.Trim(span, "`")
			if strings.HasPrefix(span, "kubectl") || strings.HasPrefix(span, "etcd") {
				continue
			}
			for _, m := range flag.FindAllStringSubmatch(span, -1) {
				seen++
				found := known[m[1]]
				for f := range known {
					found = found || m[2] != "" && strings.HasPrefix(f, m[1])
				}
				if !found && !ofOthers.MatchString(m[1]) {
					t.Errorf("%s: nothing of ours has the flag --%s", name, m[1])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d flags were found", seen)
	}
}
