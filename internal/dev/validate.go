package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/bluesky-social/indigo/atproto/syntax"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// Validate tells everything that is wrong with the options, each fault by its flag,
// the value and what to do. It makes the data directory where all else is right.
func (o *Options) Validate() error {
	errs := o.checkPorts()
	if o.PDS+o.Identifier+o.PasswordFile == "" {
		if o.PLC != "" {
			errs = append(errs, fmt.Errorf("--plc-url %q: is for the account at --pds: give that too, or leave it out", o.PLC))
		}
	} else {
		errs = append(errs, o.checkPDS()...)
	}
	errs = append(errs, o.KCP.Validate()...)
	if o.DataDir == "" {
		errs = append(errs, errors.New(`--data-dir "": must not be empty: name a directory, like `+DefaultDataDir))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return checkDataDir(o.DataDir)
}

func (o *Options) checkPorts() []error {
	var errs []error
	for _, p := range []struct {
		flag string
		port int
	}{{"--secure-port", o.Port}, {"--pds-port", o.PDSPort}} {
		if p.port < 0 || p.port > 65535 {
			errs = append(errs, fmt.Errorf("%s %d: is not a port: give 1 to 65535, or 0 for any free one", p.flag, p.port))
		}
	}
	if o.Port == o.PDSPort && o.Port != 0 && o.PDS == "" {
		errs = append(errs, fmt.Errorf("--secure-port and --pds-port are both %d: choose another for one of them (0: any free one)", o.Port))
	}
	given := o.PDSPort != DefaultPDSPort || o.given != nil && o.given("pds-port")
	if o.PDS != "" && given && o.PDSPort > 0 && o.PDSPort <= 65535 {
		errs = append(errs, fmt.Errorf("--pds-port %d: is of the embedded PDS, which --pds replaces: leave one of them out", o.PDSPort))
	}
	return errs
}

// checkPDS checks what is said of a PDS of one's own.
func (o *Options) checkPDS() []error {
	var errs []error
	for _, f := range []struct{ flag, value, what string }{
		{"--pds", o.PDS, "the base URL of the PDS"},
		{"--identifier", o.Identifier, "the handle or DID of the account"},
		{"--password-file", o.PasswordFile, "the file with its password"},
	} {
		if f.value == "" {
			errs = append(errs, fmt.Errorf("%s is missing: --pds, --identifier and --password-file go together, give %s", f.flag, f.what))
		}
	}
	for _, f := range []struct{ flag, value string }{{"--pds", o.PDS}, {"--plc-url", o.PLC}} {
		if f.value == "" {
			continue
		}
		if _, err := atproto.NormalizeHost(f.value); err != nil {
			errs = append(errs, fmt.Errorf("%s %q: not a base URL: write it like https://pds.example.com", f.flag, withoutPassword(f.value)))
		}
	}
	if _, err := syntax.ParseAtIdentifier(o.Identifier); o.Identifier != "" && err != nil {
		errs = append(errs, fmt.Errorf("--identifier %q: neither a handle nor a DID: write it like alice.example.com (without '@') or did:plc:ewvi7nxzyoun6zhxrhs64oiz", o.Identifier))
	}
	if o.PasswordFile != "" {
		if _, err := readPassword(o.PasswordFile); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// readPassword reads the file of --password-file. No error holds its content.
func readPassword(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--password-file %q: %w: name a file that can be read", file, cause(err))
	}
	password := strings.TrimSpace(string(b))
	if password == "" {
		return "", fmt.Errorf("--password-file %q: is empty: write the password, or an app password, into it", file)
	}
	return password, nil
}

// checkDataDir makes the data directory and sees that it can be written.
func checkDataDir(dir string) error {
	refused := func(err error) error {
		return fmt.Errorf("--data-dir %q: %w: name a directory that this user can write", dir, cause(err))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return refused(err)
	}
	f, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return refused(err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return refused(err)
	}
	return nil
}

// cause is an error without the name of the file.
func cause(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// withoutPassword is a URL, or what was meant to be one, in a form that can be told.
func withoutPassword(value string) string {
	if at := strings.LastIndex(value, "@"); at >= 0 {
		return "…" + value[at:]
	}
	return value
}
