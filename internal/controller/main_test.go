package controller

import (
	"flag"
	"os"
	"testing"
)

// What the model test does where nobody says otherwise: about a second of it.
var modelEffort = map[string]string{"rapid.checks": "600", "rapid.steps": "60"}

func TestMain(m *testing.M) {
	for name, value := range modelEffort {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse() // what the command line says comes after, and counts
	os.Exit(m.Run())
}
