# frozen_string_literal: true

require "json"
require "tmpdir"
require_relative "../fresh_ruby"

module Support
  module House
    # Loads each file alone, in a process that has loaded nothing of the gem, and tells what came along.
    module Loading
      # @!attribute features [Array<String>] absolute paths
      # @!attribute gems [Array<String>] names; also of those that Ruby brings along, if they came from a gem
      # @!attribute said [String] whatever was printed or warned
      # @!attribute error [String, nil]
      Loaded = Struct.new(:features, :gems, :said, :error, keyword_init: true)

      # A fork for each file: it begins with nothing but RubyGems, as a new Ruby does, in a tenth of the time.
      CODE = <<~'RUBY'
        require "json"
        $VERBOSE = true
        ARGV.each do |path|
          reader, writer = IO.pipe
          pid = fork do
            reader.close
            $stdout.reopen(writer)
            $stderr.reopen(writer)
            before = $LOADED_FEATURES.dup
            error = begin
              require path
              nil
            rescue Exception => e
              "#{e.class}: #{e.message}"
            end
            features = $LOADED_FEATURES - before
            gems = Gem.loaded_specs.values.select { |spec| features.any? { |file| file.start_with?(spec.full_gem_path + "/") } }
            gems = gems.map(&:name) - ["plait"]
            $stdout.flush
            File.write(ENV.fetch("ANSWER"), JSON.generate(path: path, features: features, gems: gems, error: error))
            exit!(0)
          end
          writer.close
          said = reader.read
          Process.wait(pid)
          answer = JSON.parse(File.read(ENV.fetch("ANSWER")))
          STDOUT.puts(JSON.generate(answer.merge(said: said)))
        end
      RUBY

      module_function

      # @param paths [Array<String>] absolute
      # @return [Hash{String => Loaded}]
      def alone(paths)
        Dir.mktmpdir("plait-test-") do |folder|
          result = FreshRuby.run(CODE, *paths, env: { "ANSWER" => File.join(folder, "answer") })
          raise "could not load the files:\n#{result.err}" unless result.success?

          result.out.lines.to_h { |line| answer(JSON.parse(line, symbolize_names: true)) }
        end
      end

      def answer(fields) = [fields.delete(:path), Loaded.new(**fields)]
    end
  end
end
