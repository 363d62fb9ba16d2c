package image

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
)

// checkProgram demands a program that runs without anything else in the image.
func checkProgram(r io.ReaderAt, arch string) error {
	f, err := elf.NewFile(r)
	if err != nil {
		return err
	}
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; f.Machine != want {
		return fmt.Errorf("it is for %s, not for %s", f.Machine, arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it isn't static: build it with CGO_ENABLED=0")
		}
	}
	return nil
}
