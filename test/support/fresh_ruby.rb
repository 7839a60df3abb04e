# frozen_string_literal: true

require "open3"
require "rbconfig"
require_relative "root"

module Support
  # Runs a piece of Ruby in a new process, with the project's lib on its path and the gems of this one.
  module FreshRuby
    Result = Struct.new(:out, :err, :status, keyword_init: true) do
      def success? = status.success?
    end

    module_function

    # @param code [String]
    # @param arguments [Array<String>] its ARGV
    # @param flags [Array<String>] of ruby, such as "-w"
    # @param env [Hash{String => String, nil}]
    # @return [Result]
    def run(code, *arguments, flags: [], env: {}, stdin: "")
      out, err, status = Open3.capture3(env, RbConfig.ruby, *FLAGS, "-I#{ROOT}/test", *flags, "-e", code, *arguments,
                                        stdin_data: stdin)
      Result.new(out: out, err: err, status: status)
    end
  end
end
