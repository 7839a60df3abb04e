# frozen_string_literal: true

require_relative "command"
require_relative "exit_status"

module Plait
  module CLI
    # `plait doctor`
    class Doctor < Command
      USAGE = "doctor"
      SUMMARY = "Tell what this machine and this Ruby offer, and what holds Plait back"
      ABOUT = <<~TEXT
        Looks at the Ruby, the processors and the memory this process may really use, the system's limits (open files,
        fibers, ports), the mechanisms, and at optional gems and programs. Where something limits, the line under it says
        what to do. It changes nothing.
      TEXT
      OPTIONS = {
        json: { type: :boolean, desc: "print it as JSON, for a program" },
        databases: { type: :boolean, desc: "tell instead what each database driver does in fibers, as measured" }
      }.freeze
      EXAMPLES = {
        "plait doctor" => "everything", "plait doctor --json" => "the same, for a program",
        "plait doctor --databases" => "drivers of databases, call by call"
      }.freeze

      def call
        require_relative "doctor/databases"
        require_relative "doctor/examination"
        examination = Examination.new(options["databases"] ? [Databases] : Examination::EXAMINERS)
        options["json"] ? terminal.data(examination.to_json) : terminal.say(*examination.lines(terminal))
        ExitStatus::OK
      end
    end
  end
end
