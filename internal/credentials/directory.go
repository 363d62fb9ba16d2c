package credentials

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// Directory finds credentials in files: <root>/<workspace>/<name>/identifier and
// …/password.
type Directory struct{ root string }

var _ Provider = Directory{}

// NewDirectory reads below root, which is read at each Get.
func NewDirectory(root string) Directory { return Directory{root} }

// Get implements Provider.
func (d Directory) Get(_ context.Context, workspace, name string) (atproto.Credentials, error) {
	if err := checkNames(workspace, name); err != nil {
		return atproto.Credentials{}, err
	}
	dir := filepath.Join(d.root, workspace, name)
	identifier, err := readFile(filepath.Join(dir, IdentifierKey))
	if err != nil {
		return atproto.Credentials{}, fmt.Errorf("credentials %s/%s: %w", workspace, name, err)
	}
	password, err := readFile(filepath.Join(dir, PasswordKey))
	if err != nil {
		return atproto.Credentials{}, fmt.Errorf("credentials %s/%s: %w", workspace, name, err)
	}
	c, err := parse(identifier, password)
	if err != nil {
		return atproto.Credentials{}, fmt.Errorf("credentials %s/%s: %w", workspace, name, err)
	}
	return c, nil
}

func readFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no file %s", ErrNotFound, filepath.Base(path))
	}
	return b, err
}

// checkNames refuses what could lead out of the workspace's own place. The API
// validates both names; this is the last gate before a path or a Secret's name.
func checkNames(workspace, name string) error {
	if msgs := validation.IsDNS1123Label(workspace); len(msgs) > 0 {
		return fmt.Errorf("workspace %q: %s", workspace, msgs[0])
	}
	if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 {
		return fmt.Errorf("credentials name %q: %s", name, msgs[0])
	}
	return nil
}
