package credentials

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Directory finds credentials in files: <root>/<workspace>/<name>/identifier,
// …/password and, where the owner left one, …/pds.
type Directory struct{ root string }

var _ Provider = Directory{}

// NewDirectory reads below root, which is read at each Get.
func NewDirectory(root string) Directory { return Directory{root} }

// Get implements Provider.
func (d Directory) Get(_ context.Context, workspace, name string) (Credentials, error) {
	if err := checkNames(workspace, name); err != nil {
		return Credentials{}, err
	}
	c, err := readDir(filepath.Join(d.root, workspace, name))
	if err != nil {
		return Credentials{}, fmt.Errorf("credentials %s/%s: %w", workspace, name, err)
	}
	return c, nil
}

func readDir(dir string) (Credentials, error) {
	identifier, err := readFile(filepath.Join(dir, IdentifierKey))
	if err != nil {
		return Credentials{}, err
	}
	password, err := readFile(filepath.Join(dir, PasswordKey))
	if err != nil {
		return Credentials{}, err
	}
	pds, err := readFile(filepath.Join(dir, PDSKey))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Credentials{}, err
	}
	return parse(identifier, password, pds)
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
