# frozen_string_literal: true

require "fileutils"
require_relative "workspace"

module Support
  class Matrix
    # JRuby out of the gem jruby-jars, unpacked into tmp/ so that it is a program like any other: there is a `bin/jruby`
    # that a test can start again.
    class Jruby
      # Not compiled for speed: most of a short run of tests is start-up, and this halves it.
      JAVA = %w[
        java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djruby.compile.mode=OFF -Xss8m
        --add-opens=java.base/sun.nio.ch=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED
      ].freeze
      UNPACK = <<~RUBY
        require "fileutils"
        require "java"
        java.util.zip.ZipFile.new(ARGV[0]).tap do |jar|
          jar.entries.each do |entry|
            next if entry.directory? || !entry.name.start_with?("META-INF/jruby.home/")

            path = File.join(ARGV[1], entry.name.delete_prefix("META-INF/jruby.home/"))
            FileUtils.mkdir_p(File.dirname(path))
            File.binwrite(path, String.from_java_bytes(jar.get_input_stream(entry).read_all_bytes))
          end
        end
      RUBY

      # @param root [String] the folder of the project
      # @return [Array<Jruby>]
      def self.all(root) = system("java", "-version", %i[out err] => File::NULL) ? [new(root)] : []

      def initialize(root)
        @root = root
      end

      def name = "jruby 9.4"

      def here? = false

      def prepare
        fetch_jars
        unpack
      end

      # @param run [Run]
      # @return [Row]
      def test(folder, arguments, run)
        environment = %w[RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE].to_h { |variable| [variable, nil] }
        run.call(environment, launcher, "bin/test", *arguments, chdir: folder)
      end

      private

      def home = File.join(@root, "tmp/jruby")

      def launcher = File.join(home, "bin/jruby")

      def fetch_jars
        Setup.run!("jruby")
        code = "require 'jruby-jars'; puts JRubyJars.core_jar_path, JRubyJars.stdlib_jar_path"
        @core, @library = IO.popen([*Setup.ruby, "-rbundler/setup", "-e", code], &:readlines).map(&:chomp)
      end

      def unpack
        return if File.exist?(launcher) && File.read(launcher) == script

        FileUtils.rm_rf(home)
        system(*JAVA, "-cp", "#{@core}:#{@library}", "org.jruby.Main", "-e", UNPACK, @library, home, exception: true)
        FileUtils.mkdir_p(File.dirname(launcher))
        File.write(launcher, script)
        File.chmod(0o755, launcher)
      end

      def script
        <<~SH
          #!/bin/sh
          exec #{JAVA.join(" ")} -cp '#{@core}' -Djruby.home='#{home}' -Djruby.script=jruby org.jruby.Main "$@"
        SH
      end
    end
  end
end
