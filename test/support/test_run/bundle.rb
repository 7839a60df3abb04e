# frozen_string_literal: true

module Support
  class TestRun
    # The gems of the bundle, looked up once: Bundler resolves it again in each Ruby that starts, which takes four times as long
    # as the start itself. A file with the line `# bin/test: bundler` is run under Bundler.
    class Bundle
      LOOK_UP = <<~RUBY
        paths = $LOAD_PATH.dup
        require "bundler/setup"
        environment = ENV.select { |name, _| name.match?(/\\A(PATH|GEM_HOME|GEM_PATH|BUNDLER_ORIG_.*)\\z/) }
        specs = Gem.loaded_specs.values.select { |spec| File.file?(spec.loaded_from) }
        specs = specs.to_h { |spec| [spec.name, [spec.loaded_from, spec.full_gem_path]] }
        $stdout.binmode.write(Marshal.dump([{ paths: $LOAD_PATH - paths, specs: specs }, environment]))
      RUBY

      # Loaded first by each Ruby: the part of Bundler's set-up that programs notice.
      SCRIPT = <<~RUBY
        require "rubygems"
        $LOAD_PATH.insert(Gem.load_path_insert_index || 0, *%<paths>p)
        verbose, $VERBOSE = $VERBOSE, nil

        # Without RubyGems' own search, which finds other versions.
        module Kernel
          alias require gem_original_require
          private :require

          private def gem(name, *) = Gem.loaded_specs.fetch(name) { raise Gem::MissingSpecError.new(name, Gem::Requirement.default) }
        end

        class << Gem
          alias specs_of_ruby loaded_specs

          # Few programs ask for them.
          def loaded_specs
            @loaded_specs_of_bundle ||= specs_of_ruby.merge(%<specs>p.transform_values do |file, folder|
              Gem::Specification.load(file).tap { |spec| spec.full_gem_path = folder }
            end)
          end
        end
        $VERBOSE = verbose
      RUBY

      # @param ruby [Array<String>] the command that starts a Ruby
      # @param folder [String] that stays until the last of them ends
      # @return [Hash{String => String}] the environment in which each Ruby finds the gems
      def self.prepare(ruby, folder)
        options = ENV.fetch("RUBYOPT", "").gsub(%r{-r\S*bundle(r/setup|\.rb)}, "")
        look_up = IO.popen([{ "RUBYOPT" => options[/\S.*/] }, *ruby, "-e", LOOK_UP], "rb", &:read)
        values, environment = Marshal.load(look_up)
        path = File.join(folder, "bundle.rb")
        File.write(path, format(SCRIPT, values))
        { **environment, "RUBYOPT" => "#{options} -r#{path}" }
      end
    end
  end
end
