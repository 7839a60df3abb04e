# frozen_string_literal: true

require_relative "../sibling"

module Plait
  module CLI
    # `plait doctor`
    class Doctor < Command
      PLACE = 80
      USAGE = "doctor"
      SUMMARY = "Show the limits of this machine and this Ruby, and how to raise them"
      ABOUT = <<~TEXT
        Checks Ruby, the processors and the memory of this process, the system's limits (open files, fibers, ports), the
        mechanisms, and optional gems and programs. The line below a limit says how to raise it. It changes nothing.

        With --c10k it checks the limits for a server with ten thousand connections (or N). Below each limit that is too low
        stands the command that raises it, and the exit status is 1. `sysctl -w` lasts until the next boot; a file in
        /etc/sysctl.d makes it last.
      TEXT
      OPTIONS = {
        json: { type: :boolean, desc: "print it as JSON, for a program" },
        c10k: { banner: "[N]", lazy: "10000", desc: "check instead the limits for a server with ten thousand connections, or N" },
        databases: { type: :boolean, desc: "show instead the measured calls of each database driver in fibers" }
      }.freeze
      EXAMPLES = {
        "plait doctor --c10k" => "before a server gets very many connections",
        "plait doctor" => "everything", "plait doctor --json" => "the same, for a program",
        "plait doctor --databases" => "drivers of databases, call by call"
      }.freeze

      def call
        require_relative "../cli/doctor/examination"
        examination = Examination.new(examiners)
        options["json"] ? terminal.data(examination.to_json) : terminal.say(*examination.lines(terminal))
        options["c10k"] && examination.limited? ? ExitStatus::FAILED : ExitStatus::OK
      end

      private

      def examiners
        return connections if options["c10k"]
        return Examination::EXAMINERS.map(&:new) unless options["databases"]

        Sibling.load("cli/doctor/databases")
        [self.class.const_get(:Databases).new]
      end

      def connections
        require_relative "../cli/doctor/c10k"
        raise UsageError, "--c10k and --databases are two examinations: ask for one" if options["databases"]

        number = Arguments.count("--c10k", options["c10k"])
        [C10k.new(number)]
      end
    end
  end
end
