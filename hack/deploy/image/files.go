package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// file of the image. Root owns them all, and nobody else may write any.
type file struct {
	name    string // without the leading slash
	mode    int64
	content []byte // nil: a directory, or a link
	link    string // what the name is another one of
}

// authoritiesFile is where Go's crypto/x509 looks, among others.
const authoritiesFile = "/etc/ssl/certs/ca-certificates.crt"

// system is what programs expect to find.
func system(authorities []byte) []file {
	return []file{
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		// Names are asked of /etc/hosts first.
		{name: "etc/nsswitch.conf", mode: 0o644, content: []byte("hosts: files dns\n")},
		{name: authoritiesFile[1:], mode: 0o644, content: authorities},
	}
}

// newLayer makes a layer of files with the directories that they are in.
func newLayer(files []file, at time.Time) (v1.Layer, error) {
	var b bytes.Buffer
	w, made := tar.NewWriter(&b), map[string]bool{".": true}
	for _, f := range files {
		if err := writeDirs(w, path.Dir(f.name), at, made); err != nil {
			return nil, err
		}
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		case f.content == nil:
			h.Name, h.Typeflag = f.name+"/", tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

func writeDirs(w *tar.Writer, dir string, at time.Time, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if err := writeDirs(w, path.Dir(dir), at, made); err != nil {
		return err
	}
	made[dir] = true
	return w.WriteHeader(&tar.Header{Name: dir + "/", Mode: 0o755, ModTime: at, Typeflag: tar.TypeDir, Format: tar.FormatPAX})
}
