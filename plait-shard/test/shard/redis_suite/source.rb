# frozen_string_literal: true

require "fileutils"

module RedisSuite
  # The sources of a Redis, whose tests/ is the suite: a folder named by PLAIT_REDIS_SOURCE, or cloned at the tag of the
  # redis-server that is installed.
  class Source
    VARIABLE = "PLAIT_REDIS_SOURCE"
    ORIGIN = "https://github.com/redis/redis.git"
    # What the suite looks for in src/; the installed ones serve.
    PROGRAMS = %w[redis-server redis-cli redis-benchmark].freeze

    # @param programs [String] the folder with redis-server
    # @param kept [String] the folder for what is cloned
    def initialize(programs, kept)
      @programs = programs
      @kept = kept
    end

    # @return [String] the version of the server
    def version = @version ||= `#{File.join(@programs, "redis-server")} --version`[/v=(\S+)/, 1]

    # A copy that the suite may write to.
    # @param folder [String]
    # @return [String] that folder
    def copy_to(folder)
      FileUtils.cp_r(File.join(original, "tests"), folder)
      FileUtils.mkdir_p([File.join(folder, "src"), File.join(folder, "tests/tmp")])
      PROGRAMS.each { |name| FileUtils.ln_s(File.join(@programs, name), File.join(folder, "src", name)) }
      folder
    end

    private

    def original
      folder = ENV.fetch(VARIABLE) { File.join(@kept, "redis-#{version}").tap { |path| clone(path) } }
      return folder if File.exist?(File.join(folder, "tests/test_helper.tcl"))

      raise "#{folder} has no tests/test_helper.tcl: name a tree of Redis' sources with #{VARIABLE}"
    end

    def clone(path)
      return if Dir.exist?(path)

      system("git", "clone", "--quiet", "--depth", "1", "--branch", version, ORIGIN, path) or
        raise "git could not clone #{ORIGIN} at #{version}: name a tree of its sources with #{VARIABLE}"
    end
  end
end
