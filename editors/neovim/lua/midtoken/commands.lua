-- What `:Midtoken` can do, one function each.

local server = require('midtoken.server')
local status = require('midtoken.status')

local M = {}

---@type table<string, fun(argument: string?)>
M.all = {}

--- Say how the server is.
function M.all.status()
  local current = status.current
  local percent = current.percent and (' %d %%'):format(current.percent) or ''
  print(('midtoken %s%s: %s'):format(current.state, percent, current.message))
end

--- Load the model again.
function M.all.restart()
  server.restart()
end

--- Switch midtoken off or on: everywhere, or with `buffer` in this buffer.
function M.all.toggle(scope)
  if scope == 'buffer' then
    return M.toggle_buffer()
  end
  if vim.lsp.is_enabled('midtoken') then
    server.disable()
  else
    server.enable()
  end
  print('midtoken is ' .. (vim.lsp.is_enabled('midtoken') and 'on' or 'off'))
end

function M.toggle_buffer()
  local attached = vim.lsp.get_clients({ name = 'midtoken', bufnr = 0 })
  for _, client in ipairs(attached) do
    vim.lsp.buf_detach_client(0, client.id)
  end
  if #attached == 0 then
    for _, client in ipairs(server.clients()) do
      vim.lsp.buf_attach_client(0, client.id)
    end
  end
  local on = #vim.lsp.get_clients({ name = 'midtoken', bufnr = 0 }) > 0
  print('midtoken is ' .. (on and 'on' or 'off') .. ' in this buffer')
end

--- Show how the last suggestion came about.
function M.all.report()
  local client = server.clients()[1]
  if not client then
    return print('midtoken does not run: open a file first')
  end
  client:exec_cmd(
    { title = 'Show the last report', command = 'midtoken.showReport' },
    nil,
    function(failure, report)
      if failure or not report or report == vim.NIL then
        return print('midtoken has suggested nothing yet')
      end
      M.show('midtoken://report', M.json_lines(report), 'json')
    end
  )
end

--- Show in a browser how the last suggestion came about, or with `here` what is suggested at the
--- cursor. The page lies in Neovim's own temporary folder until Neovim ends.
---@param where string?
function M.all.explain(where)
  local client = server.clients()[1]
  if not client then
    return print('midtoken does not run: open a file first')
  end
  local params = where == 'here' and vim.lsp.util.make_position_params(0, client.offset_encoding)
    or vim.empty_dict()
  client:request('midtoken/explain', params, function(failure, answer)
    local problem = failure and failure.message or answer.problem
    if problem then
      return print('midtoken: ' .. problem)
    end
    local page = vim.fn.tempname() .. '.html'
    vim.fn.writefile(vim.split(answer.html, '\n'), page)
    vim.ui.open(page)
  end)
end

--- A value as JSON on indented lines, the keys of objects in order.
---@param value any
---@return string[]
function M.json_lines(value)
  local lines = { '' }
  ---@param one any
  ---@param indent string
  local function write(one, indent)
    local is_list = type(one) == 'table' and vim.islist(one)
    if type(one) ~= 'table' or next(one) == nil then
      lines[#lines] = lines[#lines] .. vim.json.encode(one)
      return
    end
    local keys = vim.tbl_keys(one)
    table.sort(keys)
    lines[#lines] = lines[#lines] .. (is_list and '[' or '{')
    for place, key in ipairs(keys) do
      table.insert(lines, indent .. '  ' .. (is_list and '' or vim.json.encode(key) .. ': '))
      write(one[key], indent .. '  ')
      lines[#lines] = lines[#lines] .. (place < #keys and ',' or '')
    end
    table.insert(lines, indent .. (is_list and ']' or '}'))
  end
  write(value, '')
  return lines
end

--- Open Neovim's log of language servers, where midtoken's messages go.
function M.all.log()
  local path = vim.lsp.log and vim.lsp.log.get_filename and vim.lsp.log.get_filename()
  vim.cmd.split(vim.fn.fnameescape(path or vim.lsp.get_log_path()))
  vim.cmd.normal({ 'G', bang = true })
end

--- Run `midtoken doctor` in a terminal.
function M.all.doctor()
  local command = server.command()
  vim.cmd.new()
  vim.fn.jobstart({ command and command[1] or 'midtoken', 'doctor' }, { term = true })
end

--- Show lines in a window of their own that `q` closes.
---@param name string
---@param lines string[]
---@param filetype string
function M.show(name, lines, filetype)
  vim.cmd.new()
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden = 'nofile', 'wipe'
  pcall(vim.api.nvim_buf_set_name, buffer, name) -- one that is open already has the name
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = filetype
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, desc = 'Close this window' })
end

--- Run a subcommand; without one, tell the status.
---@param arguments string[]
function M.run(arguments)
  local name = arguments[1] or 'status'
  local command = M.all[name]
  if not command then
    local names = vim.tbl_keys(M.all)
    table.sort(names)
    local message = ('midtoken: there is no `%s`: choose %s'):format(name, table.concat(names, ', '))
    return vim.notify(message, vim.log.levels.ERROR)
  end
  command(arguments[2])
end

--- What may be written next on the command line.
---@param lead string the start of the word at the cursor
---@param line string the whole command
---@return string[]
function M.complete(lead, line)
  local words = #vim.split(vim.trim(line:sub(1, #line - #lead)), '%s+')
  local scopes = { toggle = { 'buffer' }, explain = { 'here' } }
  local choices = words == 1 and vim.tbl_keys(M.all)
    or (words == 2 and scopes[line:match('(%w+)%s+%w*$')] or {})
  table.sort(choices)
  return vim.tbl_filter(function(choice)
    return vim.startswith(choice, lead)
  end, choices)
end

return M
